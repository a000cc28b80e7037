import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Terminal } from "../command.ts";
import { createPipeWriter, createTranscriptWriter } from "./writer.ts";
import { createScreen, plainPaint } from "../screen/screen.ts";
import { type TranscriptPiece, ReplayMerger } from "./pieces.ts";

function listen() {
  const heard = { said: "" };
  const output = { write: (text: string) => void (heard.said += text) };
  const voice = createPipeWriter({ output, printError: () => undefined } as unknown as Terminal);
  const rejoiner = new ReplayMerger();
  const show = (pieces: readonly TranscriptPiece[]): void => voice.show(rejoiner.merge(pieces));
  return { heard, show, close: () => voice.close() };
}

/** Words as they come from a run that was broken off so often. */
function answersOf(tries: readonly string[]): TranscriptPiece[] {
  return tries.flatMap((text, index): TranscriptPiece[] => {
    const half = Math.ceil(text.length / 2);
    const isLast = index === tries.length - 1;
    return [
      { kind: "words", text: text.slice(0, half), isNew: true },
      { kind: "words", text: text.slice(half), isNew: false },
      { kind: "wordsEnd", partial: isLast ? undefined : "interrupted" },
    ];
  });
}

test.each([
  [["one two three"], "one two three\n"],
  [["one two", "one two three"], "one two three\n"],
  [["one two", "one", "one two three"], "one two three\n"],
  [["one two", "one two"], "one two\n"],
  [["one two", "another"], "one two\nanother\n"],
  [["one two", "one"], "one two\none\n"],
])("%j is written as %j", (tries, written) => {
  const { heard, show, close } = listen();
  show(answersOf(tries));
  close();
  expect(heard.said).toBe(written);
});

test("whatever was broken off before, the answer stands whole at the end, and nothing that was written is taken back", () => {
  const text = fc.string({ minLength: 1, unit: fc.constantFrom("a", "b", " ") });
  fc.assert(
    fc.property(fc.array(text, { maxLength: 3 }), text, (tries, last) => {
      const { heard, show, close } = listen();
      let before = "";
      for (const piece of answersOf([...tries, last])) {
        show([piece]);
        expect(heard.said.startsWith(before)).toBe(true);
        before = heard.said;
      }
      close();
      expect(`\n${heard.said}`.includes(`\n${last}\n`)).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test("the answer to something else is never taken for the same answer again", () => {
  const { heard, show, close } = listen();
  show([
    ...answersOf(["one", "one two"]).slice(0, 3),
    { kind: "runEnded", state: "cancelled", cause: null },
    { kind: "said", text: "again", attachments: [] },
    ...answersOf(["one two"]),
  ]);
  close();
  expect(heard.said).toBe("one\none two\n");
});

/** What a terminal shows in the end: rows that stand, and below them what may still change. */
function onScreen(pieces: readonly TranscriptPiece[]): string[] {
  const rows: string[] = [];
  const output = { write: () => undefined, columns: 40, rows: 24, isTTY: true };
  const real = createScreen(output);
  const screen = {
    ...real,
    width: 39,
    height: 24,
    show: (finished: readonly string[]) => void rows.push(...finished),
  };
  const terminal = { output } as unknown as Terminal;
  const voice = createTranscriptWriter({ terminal, paint: plainPaint, screen });
  voice.show(new ReplayMerger().merge(pieces));
  return rows;
}

const notice: TranscriptPiece = { kind: "notice", text: "The host stopped." };

test("on a terminal an answer that is given again after a crash goes on where it was broken off", () => {
  const [began, half, cut, ...again] = answersOf(["one\ntwo thr", "one\ntwo three\nfour"]);
  if (began === undefined || half === undefined || cut === undefined) throw new Error("no answer");
  expect(onScreen([began, half, cut, notice, ...again])).toEqual([
    "one",
    "— The host stopped.",
    "two three",
    "four",
  ]);
});

test("on a terminal another answer than the one that was broken off is begun anew, below a word of it", () => {
  const [began, half, cut, ...again] = answersOf(["one\ntwo", "another"]);
  if (began === undefined || half === undefined || cut === undefined) throw new Error("no answer");
  expect(onScreen([began, half, cut, notice, ...again])).toEqual([
    "one",
    "— The host stopped.",
    "two",
    "(broken off here)",
    "",
    "another",
  ]);
});

test("an answer that nobody goes on with says that it was broken off", () => {
  const [began, half] = answersOf(["one"]);
  if (began === undefined || half === undefined) throw new Error("no answer");
  const end: TranscriptPiece = { kind: "runEnded", state: "interrupted", cause: null };
  const cut: TranscriptPiece = { kind: "wordsEnd", partial: "interrupted" };
  expect(onScreen([began, half, cut, end])).toEqual([
    "one",
    "(broken off here)",
    "■ The answer was broken off.",
  ]);
});
