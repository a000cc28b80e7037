import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { chunkText, chunkEnd } from "./answer-text.ts";

const limit = 400;

const texts = fc
  .array(
    fc.oneof(
      fc.constantFrom("\n", "\n\n", " ", "```js\n", "\n```\n", "🙂", "~~~\n"),
      fc.string({ maxLength: 40 }),
      fc.constant("x".repeat(150)),
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(""));

function chunkEnds(text: string): number[] {
  const ends: number[] = [];
  for (let from = 0; ;) {
    const end = chunkEnd(text, from, limit);
    if (end === null) return [...ends, text.length];
    ends.push(end);
    from = end;
  }
}

function chunks(text: string): string[] {
  let from = 0;
  return chunkEnds(text).map((to) => {
    const chunk = chunkText(text, from, to);
    from = to;
    return chunk;
  });
}

describe("splitting a long text into chunks", () => {
  test("every chunk fits the limit and splits no character", () => {
    fc.assert(
      fc.property(texts, (text) => {
        for (const chunk of chunks(text)) {
          expect(chunk.length).toBeLessThanOrEqual(limit);
          expect(chunk.isWellFormed()).toBe(text.isWellFormed());
        }
      }),
    );
  });

  test("the chunks cover the whole text", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const bounds = chunkEnds(text);
        expect(bounds.every((end, index) => end > (bounds[index - 1] ?? -1))).toBe(true);
        expect(bounds.at(-1)).toBe(text.length);
      }),
    );
  });

  test("full chunks stay the same when the text grows", () => {
    fc.assert(
      fc.property(texts, texts, (start, more) => {
        const full = chunkEnds(start).slice(0, -1);
        expect(chunkEnds(start + more).slice(0, full.length)).toEqual(full);
      }),
    );
  });

  test("a code block split across chunks is closed and reopened in its language", () => {
    const line = "const value = 1;\n";
    const text = `Look:\n\`\`\`ts\n${line.repeat(60)}\`\`\`\nDone.`;
    const all = chunks(text);
    expect(all.length).toBeGreaterThan(2);
    for (const chunk of all) expect(chunk.match(/```/g)?.length ?? 0).toBe(2);
    for (const chunk of all.slice(1)) expect(chunk.startsWith("```ts\n")).toBe(true);
    const lines = all
      .flatMap((chunk) => chunk.split("\n"))
      .filter((chunkLine) => chunkLine === line.trim());
    expect(lines).toHaveLength(60);
  });
});
