import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Terminal } from "../command.ts";
import { createScreenWriter } from "./screen-writer.ts";
import { createPipeWriter } from "./writer.ts";
import { createScreen } from "../screen/screen.ts";
import { plainPaint } from "../screen/paint.ts";
import { type TranscriptPiece, ReplayMerger } from "./pieces.ts";

function openWriter() {
  const written = { text: "" };
  const output = { write: (text: string) => void (written.text += text) };
  const writer = createPipeWriter({ output, printError: () => undefined } as unknown as Terminal);
  const merger = new ReplayMerger();
  const show = (pieces: readonly TranscriptPiece[]): void => writer.show(merger.merge(pieces));
  return { written, show, close: () => writer.close() };
}

/** The pieces of a run whose answer was attempted this often. */
function answersOf(attempts: readonly string[]): TranscriptPiece[] {
  return attempts.flatMap((text, index): TranscriptPiece[] => {
    const half = Math.ceil(text.length / 2);
    const isLast = index === attempts.length - 1;
    return [
      { kind: "text", text: text.slice(0, half), isNew: true },
      { kind: "text", text: text.slice(half), isNew: false },
      { kind: "textEnd", partial: isLast ? undefined : "interrupted" },
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
])("%j is written as %j", (attempts, expected) => {
  const { written, show, close } = openWriter();
  show(answersOf(attempts));
  close();
  expect(written.text).toBe(expected);
});

test("after any interruptions the answer is complete at the end, and nothing written is taken back", () => {
  const text = fc.string({ minLength: 1, unit: fc.constantFrom("a", "b", " ") });
  fc.assert(
    fc.property(fc.array(text, { maxLength: 3 }), text, (attempts, last) => {
      const { written, show, close } = openWriter();
      let previous = "";
      for (const piece of answersOf([...attempts, last])) {
        show([piece]);
        expect(written.text.startsWith(previous)).toBe(true);
        previous = written.text;
      }
      close();
      expect(`\n${written.text}`.includes(`\n${last}\n`)).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test("the answer to another message is never merged with an interrupted one", () => {
  const { written, show, close } = openWriter();
  show([
    ...answersOf(["one", "one two"]).slice(0, 3),
    { kind: "runEnded", state: "cancelled", cause: null },
    { kind: "userMessage", text: "again", attachments: [] },
    ...answersOf(["one two"]),
  ]);
  close();
  expect(written.text).toBe("one\none two\n");
});

/** The permanent rows that a terminal shows in the end. */
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
  const writer = createScreenWriter(screen, plainPaint);
  writer.show(new ReplayMerger().merge(pieces));
  return rows;
}

const notice: TranscriptPiece = { kind: "notice", text: "The host stopped." };

test("on a terminal, an answer repeated after a crash continues where it was interrupted", () => {
  const [start, half, interruption, ...retry] = answersOf(["one\ntwo thr", "one\ntwo three\nfour"]);
  if (start === undefined || half === undefined || interruption === undefined)
    throw new Error("no answer");
  expect(onScreen([start, half, interruption, notice, ...retry])).toEqual([
    "one",
    "two",
    "— The host stopped.",
    "three",
    "four",
  ]);
});

test("on a terminal, an answer that differs from the interrupted one starts over below it", () => {
  const [start, half, interruption, ...retry] = answersOf(["one\ntwo", "another"]);
  if (start === undefined || half === undefined || interruption === undefined)
    throw new Error("no answer");
  expect(onScreen([start, half, interruption, notice, ...retry])).toEqual([
    "one",
    "— The host stopped.",
    "two",
    "(interrupted here)",
    "",
    "another",
  ]);
});

test("an interrupted answer that nothing continues is marked", () => {
  const [start, half] = answersOf(["one"]);
  if (start === undefined || half === undefined) throw new Error("no answer");
  const end: TranscriptPiece = { kind: "runEnded", state: "interrupted", cause: null };
  const interruption: TranscriptPiece = { kind: "textEnd", partial: "interrupted" };
  expect(onScreen([start, half, interruption, end])).toEqual([
    "one",
    "(interrupted here)",
    "■ The answer was interrupted.",
  ]);
});

test("a picture that the model made is a line with its name and size, outside the piped answer", () => {
  const lines: string[] = [];
  const output = { write: (text: string) => void lines.push(`answer: ${text}`) };
  const printError = (line: string) => void lines.push(line);
  const writer = createPipeWriter({ output, printError } as unknown as Terminal);
  writer.show([
    { kind: "picture", name: "picture-1.png", size: 2_048 },
    { kind: "picture", name: "image", size: undefined },
  ]);
  expect(lines).toEqual(["▣ picture-1.png (2 KB)", "▣ image"]);
});
