import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { readMarkdownV2 } from "@holdfast/testing/telegram/read-markdown-v2";
import { escapeText, toMarkdownV2 } from "./markdown.ts";

/** Text full of markup characters in any order. */
const markupText = fc
  .array(
    fc.oneof(
      fc.constantFrom(..."_*[]()~`>#+-=|{}.!\\ \n".split(""), "**", "__", "~~", "```", "\n```js\n"),
      fc.constantFrom("- ", "# ", "[a](https://x.y/z)", "word", "ß", "🙂", "1.", "<b>"),
      fc.string({ unit: "grapheme", maxLength: 3 }),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(""));

function render(markdown: string): string {
  const parsed = readMarkdownV2(toMarkdownV2(markdown));
  if (!parsed.ok) throw new Error(`${parsed.reason}: ${JSON.stringify(toMarkdownV2(markdown))}`);
  return parsed.text;
}

describe("converting a model's Markdown to MarkdownV2", () => {
  test("Telegram can parse the result for any input", () => {
    fc.assert(
      fc.property(markupText, (text) => void render(text)),
      { numRuns: 2_000 },
    );
  });

  test("a message cut off while streaming still parses", () => {
    fc.assert(
      fc.property(markupText, fc.nat(100), (text, end) => void render(text.slice(0, end))),
      { numRuns: 500 },
    );
  });

  test("no letter or digit is lost", () => {
    const words = fc.array(fc.constantFrom("one", "2", "dr**ei**", "_vier_", "`fünf`", "*"));
    const letters = (text: string) => text.replace(/[^\p{L}\p{N}]/gu, "");
    fc.assert(
      fc.property(words, (parts) => {
        expect(letters(render(parts.join(" ")))).toBe(letters(parts.join(" ")));
      }),
    );
  });

  test("escaped text is shown unchanged", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const parsed = readMarkdownV2(escapeText(text));
        expect(parsed.ok && parsed.text).toBe(text);
      }),
    );
  });

  test.each([
    ["**bold** and *slanted* and ~~gone~~", "bold and slanted and gone"],
    ["# A heading\n- one\n- two", "A heading\n• one\n• two"],
    ["see [here](https://a.b/c_d) now", "see here now"],
    ["```ts\nconst a = `b`;\n```", "const a = `b`;"],
    ["an `a_b` and a snake_case_name", "an a_b and a snake_case_name"],
    ["1. First. (Really!)", "1. First. (Really!)"],
    ["*a*_b_ and _c__d_", "ab and _c__d_"],
  ])("%j is shown as %j", (markdown, text) => {
    expect(render(markdown)).toBe(text);
  });

  test("the test's parser rejects what Telegram rejects", () => {
    const malformed = ["a.b", "*open", "`open", "[a](b", "a_b_c_", "end\\"];
    expect(malformed.filter((text) => readMarkdownV2(text).ok)).toEqual([]);
  });
});
