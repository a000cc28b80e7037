import * as fc from "fast-check";
import { expect, test } from "vitest";

import { plainText, previewOf, titleFrom } from "./session.ts";

const anyText = fc.string({
  unit: fc.oneof(fc.constantFrom("\n", "\r", "\0", "\u2028", "\uD800", " ", "🙂"), fc.string()),
  maxLength: 400,
});

test("a title and a preview are one line, well formed and short, whatever the text", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      for (const [made, length] of [
        [previewOf(text), 200],
        [titleFrom(text), 120],
      ] as const) {
        expect(made.length).toBeLessThanOrEqual(length);
        expect(made.isWellFormed()).toBe(true);
        expect(plainText(made)).toBe(made);
      }
    }),
    { numRuns: 500 },
  );
});

test("a title is the first line with content", () => {
  expect(titleFrom("\n  First\tline \nsecond")).toBe("First line");
});
