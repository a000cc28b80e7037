import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createPaint } from "./paint.ts";
import { fitEndTo, fitTo, padTo, widthOf } from "./width.ts";
import { wrapSpans } from "./wrap.ts";

test.each([
  ["a variation selector makes a symbol an emoji", "▶️", 2],
  ["a symbol that is text by default", "▶", 1],
  ["a pictograph that is text by default", "🌡", 1],
  ["a flag", "🇩🇪", 2],
  ["a skin tone", "👍🏽", 2],
  ["a keycap", "1️⃣", 2],
  ["an emoji of several people", "👩‍👩‍👧", 2],
  ["a syllable of conjoining jamo", "각", 2],
  ["half-width kana with a voicing mark", "ｶﾞ", 2],
  ["a letter with a spacing vowel sign", "नि", 2],
  ["a letter with stacked marks", "a\u0300\u0301\u0302", 1],
  ["an ideograph outside the basic plane", "𠀀", 2],
  ["a soft hyphen", "\u00ad", 0],
  ["a style", "\u001b[1mx\u001b[22m", 1],
])("%s: %j takes its columns", (_, text, columns) => {
  expect(widthOf(text)).toBe(columns);
  expect(widthOf(padTo(text, 6))).toBe(6);
});

const colours = createPaint({ isTTY: true }, {});

test("a wrapped or cut style ends in its row and begins again in the next", () => {
  const rows = wrapSpans([{ text: "one two", styles: ["bold"] }], colours, { width: 4 });
  expect(rows).toEqual(["\u001b[1mone\u001b[22m", "\u001b[1mtwo\u001b[22m"]);
  expect(fitTo(colours("bad", "日本語"), 5)).toBe("\u001b[31m日本…\u001b[39m");
});

test("wrapped rows keep the indentation of their text, and the blanks between words", () => {
  const wrap = (text: string, width: number): string[] =>
    wrapSpans([{ text, styles: [] }], colours, { width, first: "- ", rest: "  " });
  expect(wrap("  a   b longer", 10)).toEqual(["-   a   b", "    longer"]);
  expect(wrap(`${" ".repeat(90)}a`, 10)).toEqual(["-     a"]);
  expect(wrap("", 10)).toEqual(["-"]);
});

test("styled rows of any text fit and lose nothing but blanks", () => {
  const text = fc.array(
    fc.oneof(fc.string({ unit: "grapheme", maxLength: 12 }), fc.constantFrom(" ", "日本", "👩‍👩‍👧")),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(text, fc.integer({ min: 6, max: 30 }), (words, width) => {
      const spans = words.map((word) => ({ text: word, styles: ["bold", "code"] as const }));
      const rows = wrapSpans(spans, colours, { width });
      for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(width);
      // oxlint-disable-next-line no-control-regex -- styles
      const shown = rows.join("").replaceAll(/\u001b\[\d+m/g, "");
      const lettersOf = (from: string): string => from.replaceAll(/\s/g, "");
      // The library writes characters in their composed form.
      expect(lettersOf(shown)).toBe(lettersOf(words.join("")).normalize());
    }),
  );
});

test("a line of megabytes is cut at the width", () => {
  const line = "日本".repeat(1_000_000);
  expect(fitTo(line, 6)).toBe("日本…");
  expect(fitEndTo(line, 6)).toBe("…日本");
  // The row marks the cut, however long a single character is.
  expect(fitTo(`e${"\u0301".repeat(1_000_000)}`, 5)).toMatch(/…$/);
});
