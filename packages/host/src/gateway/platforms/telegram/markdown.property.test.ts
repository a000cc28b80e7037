import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { readMarkdownV2 } from "@holdfast/testing/telegram/read-markdown-v2";
import { escapeText, toMarkdownV2 } from "./markdown.ts";

/** Text with much of what means something, in every order. */
const tricky = fc
  .array(
    fc.oneof(
      fc.constantFrom(..."_*[]()~`>#+-=|{}.!\\ \n".split(""), "**", "__", "~~", "```", "\n```js\n"),
      fc.constantFrom("- ", "# ", "[a](https://x.y/z)", "word", "ß", "🙂", "1.", "<b>"),
      fc.string({ unit: "grapheme", maxLength: 3 }),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(""));

function shown(markdown: string): string {
  const read = readMarkdownV2(toMarkdownV2(markdown));
  if (!read.ok) throw new Error(`${read.reason}: ${JSON.stringify(toMarkdownV2(markdown))}`);
  return read.text;
}

describe("what a model writes, as Telegram's MarkdownV2", () => {
  test("whatever it is, Telegram can read it", () => {
    fc.assert(
      fc.property(tricky, (text) => void shown(text)),
      { numRuns: 2_000 },
    );
  });

  test("half of a message that is still being written can be read too", () => {
    fc.assert(
      fc.property(tricky, fc.nat(100), (text, end) => void shown(text.slice(0, end))),
      { numRuns: 500 },
    );
  });

  test("no letter or digit of it is lost", () => {
    const words = fc.array(fc.constantFrom("one", "2", "dr**ei**", "_vier_", "`fünf`", "*"));
    const letters = (text: string) => text.replace(/[^\p{L}\p{N}]/gu, "");
    fc.assert(
      fc.property(words, (parts) => {
        expect(letters(shown(parts.join(" ")))).toBe(letters(parts.join(" ")));
      }),
    );
  });

  test("text that is escaped is shown as it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const read = readMarkdownV2(escapeText(text));
        expect(read.ok && read.text).toBe(text);
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
    expect(shown(markdown)).toBe(text);
  });

  test("the reader itself refuses what Telegram refuses", () => {
    const bad = ["a.b", "*open", "`open", "[a](b", "a_b_c_", "end\\"];
    expect(bad.filter((text) => readMarkdownV2(text).ok)).toEqual([]);
  });
});
