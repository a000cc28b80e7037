import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { chunkText, chunkEnd } from "./answer-text.ts";

const limit = 400;

const pieces = fc
  .array(
    fc.oneof(
      fc.constantFrom("\n", "\n\n", " ", "```js\n", "\n```\n", "🙂", "~~~\n"),
      fc.string({ maxLength: 40 }),
      fc.constant("x".repeat(150)),
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(""));

/** Where the chunks of a text end. */
function ends(text: string): number[] {
  const found: number[] = [];
  for (let from = 0; ;) {
    const end = chunkEnd(text, from, limit);
    if (end === null) return [...found, text.length];
    found.push(end);
    from = end;
  }
}

function chunks(text: string): string[] {
  let from = 0;
  return ends(text).map((to) => {
    const chunk = chunkText(text, from, to);
    from = to;
    return chunk;
  });
}

describe("a long text in chunks", () => {
  test("every chunk fits, and no character is cut in two", () => {
    fc.assert(
      fc.property(pieces, (text) => {
        for (const chunk of chunks(text)) {
          expect(chunk.length).toBeLessThanOrEqual(limit);
          expect(chunk.isWellFormed()).toBe(text.isWellFormed());
        }
      }),
    );
  });

  test("nothing is lost between two chunks", () => {
    fc.assert(
      fc.property(pieces, (text) => {
        const all = ends(text);
        expect(all.every((end, index) => end > (all[index - 1] ?? -1))).toBe(true);
        expect(all.at(-1)).toBe(text.length);
      }),
    );
  });

  test("a text that grows leaves the chunks that are full as they are", () => {
    fc.assert(
      fc.property(pieces, pieces, (before, more) => {
        const full = ends(before).slice(0, -1);
        expect(ends(before + more).slice(0, full.length)).toEqual(full);
      }),
    );
  });

  test("a block of code that is cut through is closed, and opened again in its language", () => {
    const line = "const value = 1;\n";
    const text = `Look:\n\`\`\`ts\n${line.repeat(60)}\`\`\`\nDone.`;
    const all = chunks(text);
    expect(all.length).toBeGreaterThan(2);
    for (const chunk of all) expect(chunk.match(/```/g)?.length ?? 0).toBe(2);
    for (const chunk of all.slice(1)) expect(chunk.startsWith("```ts\n")).toBe(true);
    const said = all.flatMap((chunk) => chunk.split("\n")).filter((each) => each === line.trim());
    expect(said).toHaveLength(60);
  });
});
