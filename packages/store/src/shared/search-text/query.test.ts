import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { findSnippet, parseTerms } from "./query.ts";
import { foldText, foldWithOrigins, snippetText, tokensOf } from "./tokens.ts";

/** The highlighted parts of a text's snippet, or `undefined` if it doesn't match. */
function highlighted(text: string, query: string): string[] | undefined {
  const result = findSnippet(foldWithOrigins(snippetText(text)), parseTerms(query));
  return result?.highlights.map(([from, to]) => result.snippet.slice(from, to));
}

describe("a query", () => {
  test.each([
    ["a word", "The tide is high", "tide", ["tide"]],
    ["a word in another case", "The Tide is high", "tIDE", ["Tide"]],
    ["a part of a word", "interfaces", "terfac", ["terfac"]],
    ["a short word", "It is his", "is", ["is"]],
    ["a phrase over punctuation", "It was high, tide or not", '"high tide"', ["high, tide"]],
    ["a phrase over a line", "high\n  tide", '"high tide"', ["high tide"]],
    ["an unclosed phrase", "a high tide", '"high tide', ["high tide"]],
    ["a prefix", "interface, printer", "inter*", ["inter"]],
    ["a prefix of one character", "a bee", "b*", ["b"]],
    ["a word with punctuation", "in C++ and C", "c++", ["C++"]],
    ["a path", "see src/main.ts now", "main.ts", ["main.ts"]],
    ["a word without its diacritics", "Crème brûlée", "brulee", ["brûlée"]],
    ["a word with superfluous diacritics", "creme", "crème", ["creme"]],
    ["a decomposed word", "cre\u0300me brulee", "crème", ["crème"]],
    ["marks without a composed form", "x\u0302yz!", "xyz", ["x\u0302yz"]],
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
    ["a phrase at the edges of longer words", "highs tide", '"high tide"'],
    ["a prefix inside a word", "printer", "inter*"],
    ["one of two terms", "high tide", "high wind"],
    ["another voiced sound", "がく", "かく"],
    ["anything for a lone quote", '"', '"'],
    ["anything for punctuation alone", "a -> b", "->"],
    ["anything for an empty query", "a", "  "],
  ])("doesn't find %s", (_, text, query) => {
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

test("every match of a term contains every token of the term", () => {
  fc.assert(
    fc.property(
      text,
      fc.nat(),
      fc.nat({ max: 12 }),
      fc.constantFrom("part", "phrase"),
      (plain, at, length, kind) => {
        const folded = foldText(snippetText(plain));
        const from = folded.length === 0 ? 0 : at % folded.length;
        const cut = folded.slice(from, from + length + 1).replaceAll('"', " ");
        const terms = parseTerms(kind === "part" ? cut : `"${cut}"`);
        const tokens = tokensOf(folded);
        for (const term of terms) {
          if (findSnippet(foldWithOrigins(snippetText(plain)), [term]) === undefined) continue;
          expect(term.tokens.filter((token) => !tokens.has(token))).toEqual([]);
          expect(term.tokens.length).toBeGreaterThan(0);
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

test("highlights are inside the snippet, sorted, disjoint, and match the query", () => {
  fc.assert(
    fc.property(text, fc.nat(), (plain, at) => {
      const words = snippetText(plain).split(" ");
      const query = words[at % words.length] ?? "";
      const result = findSnippet(foldWithOrigins(snippetText(plain)), parseTerms(query));
      let end = -1;
      for (const [from, to] of result?.highlights ?? []) {
        expect(from).toBeGreaterThan(end);
        expect(to).toBeGreaterThan(from);
        expect(to).toBeLessThanOrEqual(result?.snippet.length ?? 0);
        end = to;
      }
      expect(result?.snippet.isWellFormed() ?? true).toBe(true);
      expect(snippetText(plain)).toContain(result?.snippet ?? "");
    }),
    { numRuns: 1_000 },
  );
});

test("the snippet shows the part where the most terms occur together", () => {
  const filler = "lorem ipsum dolor sit amet ".repeat(20);
  const plain = `tide ${filler} high tide and wind ${filler}`;
  const result = findSnippet(foldWithOrigins(plain), parseTerms("wind tide high"));
  expect(result?.snippet).toContain("high tide and wind");
  expect(result?.snippet.length).toBeLessThanOrEqual(160);
  expect(result?.highlights).toHaveLength(3);
});

test("a very long match extends the snippet up to its limit", () => {
  const word = "a".repeat(3_000);
  const result = findSnippet(foldWithOrigins(`${"b".repeat(500)} ${word}`), parseTerms(word));
  expect(result?.snippet.length).toBeLessThanOrEqual(401);
  expect(result?.highlights).toHaveLength(1);
});
