import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createFetchedPages, type FetchedPage, partsOfPages, splitParts } from "./fetched-pages.ts";

/** Long texts with few distinct pieces: boundaries, and characters of two halves. */
const longText = fc
  .array(fc.tuple(fc.constantFrom("\n\n", "\n", " ", "x", "😀", "\ud800"), fc.nat(30_000)), {
    maxLength: 8,
  })
  .map((pieces) => pieces.map(([piece, count]) => piece.repeat(count)).join(""));

test("the parts of a text are bounded and together are the text, and no character is halved", () => {
  fc.assert(
    fc.property(longText, (text) => {
      const parts = splitParts(text);
      expect(parts.join("") === text).toBe(true);
      expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(40_000);
      expect(parts.every((part) => part.isWellFormed())).toBe(text.isWellFormed());
      expect(parts.slice(0, -1).every(({ length }) => length >= 32_000)).toBe(true);
    }),
    { numRuns: 100 },
  );
});

test("the parts of a document are bounded and have every page once, in order", () => {
  fc.assert(
    fc.property(fc.array(longText, { maxLength: 6 }), (pages) => {
      const parts = partsOfPages(pages);
      const whole = pages.map((page, n) => `[Page ${n + 1}]\n${page.trim()}\n\n`).join("");
      expect(parts.join("") === whole).toBe(true);
      expect(Math.max(0, ...parts.map(({ length }) => length))).toBeLessThanOrEqual(40_000);
    }),
    { numRuns: 50 },
  );
});

test("only as many pages are kept as fit, the newest of them", () => {
  const pages = createFetchedPages(() => 0);
  const page: FetchedPage = {
    url: "https://a.example/",
    status: 200,
    title: "",
    parts: ["x".repeat(800_000)],
    missing: null,
  };
  for (let n = 0; n < 8; n += 1) pages.keep("ses", `https://a.example/${n}`, page);
  const kept = Array.from({ length: 8 }, (_, n) => pages.read("ses", `https://a.example/${n}`));
  expect(kept.map((found) => found !== null)).toEqual([
    false,
    false,
    false,
    true,
    true,
    true,
    true,
    true,
  ]);
});
