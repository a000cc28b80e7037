import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createPipeVoice } from "./pipe-voice.ts";
import type { Terminal } from "./command.ts";
import type { Piece } from "./talk/index.ts";

function listen() {
  const heard = { said: "", told: [] as string[] };
  const terminal = {
    output: { write: (text: string) => void (heard.said += text) },
    complain: (line: string) => void heard.told.push(line),
  };
  const voice = createPipeVoice(terminal as unknown as Terminal);
  return { heard, voice };
}

/** Words as they come from a run that was broken off so often. */
function answersOf(tries: readonly string[]): Piece[] {
  return tries.flatMap((text, index): Piece[] => {
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
  const { heard, voice } = listen();
  voice.show(answersOf(tries));
  voice.close();
  expect(heard.said).toBe(written);
});

test("whatever was broken off before, the answer stands whole at the end, and nothing that was written is taken back", () => {
  const text = fc.string({ minLength: 1, unit: fc.constantFrom("a", "b", " ") });
  fc.assert(
    fc.property(fc.array(text, { maxLength: 3 }), text, (tries, last) => {
      const { heard, voice } = listen();
      let before = "";
      for (const piece of answersOf([...tries, last])) {
        voice.show([piece]);
        expect(heard.said.startsWith(before)).toBe(true);
        before = heard.said;
      }
      voice.close();
      expect(`\n${heard.said}`.includes(`\n${last}\n`)).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test("the answer to something else is never taken for the same answer again", () => {
  const { heard, voice } = listen();
  voice.show([
    ...answersOf(["one", "one two"]).slice(0, 3),
    { kind: "runEnded", state: "cancelled", cause: null },
    { kind: "said", text: "again", attachments: [] },
    ...answersOf(["one two"]),
  ]);
  voice.close();
  expect(heard.said).toBe("one\none two\n");
});

test("how things stand is told when it begins, however often it is met, and a denied tool is told as one", () => {
  const { heard, voice } = listen();
  for (const text of ["away", "away", "", "away"]) voice.status(text);
  const tool = { kind: "toolEnded", name: "pay", output: "", tookMs: null } as const;
  voice.show([{ ...tool, outcome: "cancelled", refusal: "denied" }]);
  expect(heard.told).toEqual(["away", "away", "  denied"]);
});
