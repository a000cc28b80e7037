import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { findSnippet, parseTerms } from "./query.ts";
import { foldText, foldWithOrigins, snippetText } from "./fold.ts";
import { tokensOf } from "./tokens.ts";

/** The highlighted parts of the snippet of a text, or nothing when it does not match. */
function highlighted(text: string, query: string): string[] | undefined {
  const found = findSnippet(foldWithOrigins(snippetText(text)), parseTerms(query));
  return found?.highlights.map(([from, to]) => found.snippet.slice(from, to));
}

describe("a query", () => {
  test.each([
    ["a word", "The tide is high", "tide", ["tide"]],
    ["a word in another case", "The Tide is high", "tIDE", ["Tide"]],
    ["a part of a word", "interfaces", "terfac", ["terfac"]],
    ["a short word", "It is his", "is", ["is"]],
    ["a phrase over punctuation", "It was high, tide or not", '"high tide"', ["high, tide"]],
    ["a phrase over a line", "high\n  tide", '"high tide"', ["high tide"]],
    ["a phrase that nobody closed", "a high tide", '"high tide', ["high tide"]],
    ["a prefix", "interface, printer", "inter*", ["inter"]],
    ["a prefix of one character", "a bee", "b*", ["b"]],
    ["a word with signs", "in C++ and C", "c++", ["C++"]],
    ["a path", "see src/main.ts now", "main.ts", ["main.ts"]],
    ["a word without its diacritics", "Crème brûlée", "brulee", ["brûlée"]],
    ["a word with diacritics too many", "creme", "crème", ["creme"]],
    ["a decomposed word", "cre\u0300me brulee", "crème", ["crème"]],
    ["marks that have no composed form", "x\u0302yz!", "xyz", ["x\u0302yz"]],
    ["a part of a ligature", "the ﬁrst", "fir", ["ﬁr"]],
    ["wide letters", "ＣＡＦＥ", "cafe", ["ＣＡＦＥ"]],
    ["a final sigma", "ΟΔΟΣ", "οδος", ["ΟΔΟΣ"]],
    ["a dotted capital", "İstanbul", "istanbul", ["İstanbul"]],
    ["two characters of CJK", "今日は東京タワーへ", "東京", ["東京"]],
    ["one character of CJK", "黒い猫", "猫", ["猫"]],
    ["a phrase of CJK and words", "彼はvim 編集 を使う", '"vim編集"', ["vim 編集"]],
    ["a phrase that begins inside CJK", "x東京タワー", '"東京"', ["東京"]],
    ["a word between CJK", "我用vim编辑", "vi*", ["vi"]],
    ["Hangul", "한국어 검색", "국어", ["국어"]],
    ["an emoji", "done 🎉 now", "🎉", ["🎉"]],
    ["a phrase with an emoji in it", "done 🎉 now", '"done now"', ["done 🎉 now"]],
    ["letters beyond the basic plane", "𐐨𐐩𐐪𐐫 and 𐐨𐐩", '"𐐨𐐩"', ["𐐨𐐩"]],
  ])("finds %s", (_, text, query, expected) => {
    expect(highlighted(text, query)).toEqual(expected);
  });

  test.each([
    ["a short word inside another", "this", "is"],
    ["a phrase in another order", "tide high", '"high tide"'],
    ["a phrase whose ends are parts of words", "highs tide", '"high tide"'],
    ["a prefix inside a word", "printer", "inter*"],
    ["one of two terms", "high tide", "high wind"],
    ["another voiced sound", "がく", "かく"],
    ["nothing for a quote alone", '"', '"'],
    ["nothing for signs alone", "a -> b", "->"],
    ["nothing for nothing", "a", "  "],
  ])("does not find %s", (_, text, query) => {
    expect(highlighted(text, query)).toBeUndefined();
  });
});

const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 12 }),
      fc.string({ unit: "binary", maxLength: 6 }),
      fc.stringMatching(/^[a-zA-Z0-9]{1,9}$/),
      fc.stringMatching(/^[東京タワー大学日本語の한국어]{1,6}$/),
      fc.constantFrom(" ", "\n", ", ", "_", "-", "é", "İ", "ﬁ", "🎉", "\0", "\ud800"),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(" "));

test("whatever a term matches has every token of the term", () => {
  fc.assert(
    fc.property(
      text,
      fc.nat(),
      fc.nat({ max: 12 }),
      fc.constantFrom("part", "phrase"),
      (said, at, length, kind) => {
        const folded = foldText(snippetText(said));
        const from = folded.length === 0 ? 0 : at % folded.length;
        const cut = folded.slice(from, from + length + 1).replaceAll('"', " ");
        const terms = parseTerms(kind === "part" ? cut : `"${cut}"`);
        const tokens = tokensOf(folded);
        for (const term of terms) {
          if (findSnippet(foldWithOrigins(snippetText(said)), [term]) === undefined) continue;
          expect(term.tokens.filter((token) => !tokens.has(token))).toEqual([]);
          expect(term.tokens.length).toBeGreaterThan(0);
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

test("highlights are inside the snippet, in order, apart, and fold to something of the query", () => {
  fc.assert(
    fc.property(text, fc.nat(), (said, at) => {
      const words = snippetText(said).split(" ");
      const query = words[at % words.length] ?? "";
      const found = findSnippet(foldWithOrigins(snippetText(said)), parseTerms(query));
      let end = -1;
      for (const [from, to] of found?.highlights ?? []) {
        expect(from).toBeGreaterThan(end);
        expect(to).toBeGreaterThan(from);
        expect(to).toBeLessThanOrEqual(found?.snippet.length ?? 0);
        end = to;
      }
      expect(found?.snippet.isWellFormed() ?? true).toBe(true);
      expect(snippetText(said)).toContain(found?.snippet ?? "");
    }),
    { numRuns: 1_000 },
  );
});

test("the snippet shows the place where the most terms are together", () => {
  const filler = "lorem ipsum dolor sit amet ".repeat(20);
  const said = `tide ${filler} high tide and wind ${filler}`;
  const found = findSnippet(foldWithOrigins(said), parseTerms("wind tide high"));
  expect(found?.snippet).toContain("high tide and wind");
  expect(found?.snippet.length).toBeLessThanOrEqual(160);
  expect(found?.highlights).toHaveLength(3);
});

test("a very long match makes a longer snippet, and is cut at its bound", () => {
  const word = "a".repeat(3_000);
  const found = findSnippet(foldWithOrigins(`${"b".repeat(500)} ${word}`), parseTerms(word));
  expect(found?.snippet.length).toBeLessThanOrEqual(401);
  expect(found?.highlights).toHaveLength(1);
});
