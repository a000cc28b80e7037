import * as fc from "fast-check";
import { expect, test } from "vitest";
import { closeOpenEnds, createBlockSplitter, lexBlock } from "./blocks.ts";

const pieces = fc.constantFrom(
  "A line.\n",
  "\n",
  "\n\n",
  "- item\n",
  "  - inner\n",
  "1. one\n",
  "> said\n",
  "# Title\n",
  "===\n",
  "```js\n",
  "const a = 1;\n",
  "```\n",
  "| a | b |\n",
  "|---|---|\n",
  "<div>\n",
  "    four\n",
  "word ",
  "**bold** ",
  "\t",
  "$$\n",
  "\\[ x \\]\n",
  "$a$ ",
);
const texts = fc.array(pieces, { maxLength: 40 });

test("the blocks of a text are the whole text in order, however it was streamed", () => {
  fc.assert(
    fc.property(texts, (parts) => {
      const splitter = createBlockSplitter();
      let text = "";
      for (const part of parts) {
        text += part;
        splitter.split(text, "grows");
      }
      const blocks = splitter.split(text, "settled");
      const joined = blocks.map(({ raw }) => raw).join("");
      expect(joined.replaceAll(/\s/g, "")).toBe(text.replaceAll(/\s/g, ""));
      expect(blocks.some(({ isOpen }) => isOpen)).toBe(false);
    }),
  );
});

test("a text that only grew keeps its finished blocks", () => {
  const splitter = createBlockSplitter();
  const paragraphs = Array.from({ length: 30 }, (_, index) => `Paragraph ${index}.`);
  const before = splitter.split(paragraphs.join("\n\n"), "grows");
  const after = splitter.split(`${paragraphs.join("\n\n")} And more`, "grows");
  expect(after.slice(0, -1).map(({ raw }) => raw)).toEqual(
    before.slice(0, -1).map(({ raw }) => raw),
  );
  expect(after.at(-1)).toEqual({ raw: "Paragraph 29. And more", isOpen: true });
});

test("[safety] nested quotes are one block, also while they grow, and what came before stays", () => {
  const splitter = createBlockSplitter();
  const paragraphs = Array.from({ length: 5 }, (_, index) => `Paragraph ${index}.\n\n`);
  splitter.split(paragraphs.join(""), "grows");
  const deep = "> ".repeat(5_000);
  for (const text of [`${paragraphs.join("")}${deep}`, `${paragraphs.join("")}${deep}${deep}`]) {
    const blocks = splitter.split(text, "grows");
    expect(blocks[0]?.raw.trim()).toBe("Paragraph 0.");
    expect(text.endsWith(blocks.at(-1)?.raw ?? "")).toBe(true);
    expect(blocks.at(-1)?.raw).toContain(deep);
  }
});

test.each([
  ["a **bold", "a **bold**"],
  ["a `code", "a `code`"],
  ["see [the page](https://exa", "see the page"],
  ["see [the pa", "see the pa"],
  ["almost *", "almost "],
  ["```js\nlet `a", "```js\nlet `a"],
  ["$$\nx_1 **", "```math\n$$\nx_1 **\n"],
  ["done **well** and `so`", "done **well** and `so`"],
])("unfinished markup is closed while it streams: %s", (raw, shown) => {
  expect(closeOpenEnds(raw)).toBe(shown);
});

/** The layout and source of each formula that the lexer finds. */
function formulasIn(raw: string): unknown[] {
  const found: unknown[] = [];
  const collect = (tokens: readonly object[]): void => {
    for (const token of tokens) {
      if ("layout" in token && "text" in token) found.push([token.layout, token.text]);
      else if ("tokens" in token && Array.isArray(token.tokens)) collect(token.tokens);
    }
  };
  collect(lexBlock({ raw, isOpen: false }, {}));
  return found;
}

test.each([
  ["the energy $E = mc^2$ of it", [["line", "E = mc^2"]]],
  [
    "so \\(a_1\\) and $b$, not \\$c\\$",
    [
      ["line", "a_1"],
      ["line", "b"],
    ],
  ],
  [
    "$2$ or $3x$ or $2 + 2$",
    [
      ["line", "2"],
      ["line", "3x"],
      ["line", "2 + 2"],
    ],
  ],
  ["$$\nx\n\ny\n$$\n", [["display", "x\n\ny"]]],
  ["\\[ x \\]", [["display", "x"]]],
  ["and $$x$$ within a line", [["display", "x"]]],
  ["**bold $x$**", [["line", "x"]]],
])("a formula is found in %j", (raw, found) => {
  expect(formulasIn(raw)).toEqual(found);
});

test.each([
  "it costs $5 and then $10",
  "between $5 and 10$ a day",
  "US$5 to A$9, or $5-$10",
  "$HOME and $PATH",
  "a $ b $ c",
  "`$x$` and `\\(y\\)`",
  "```\n$$\nx\n$$\n```",
  "$$",
  "only $one",
])("no formula is found in %j", (raw) => {
  expect(formulasIn(raw)).toEqual([]);
});
