import * as fc from "fast-check";
import { expect, test } from "vitest";
import { closeOpenEnds, createBlockSplitter } from "./blocks.ts";

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
);
const texts = fc.array(pieces, { maxLength: 40 });

test("the blocks of a text are the whole text, in order, however it came", () => {
  fc.assert(
    fc.property(texts, (parts) => {
      const splitter = createBlockSplitter();
      let text = "";
      for (const part of parts) {
        text += part;
        splitter.split(text, "grows");
      }
      const drawn = splitter.split(text, "settled");
      const inOrder = drawn.map(({ raw }) => raw).join("");
      expect(inOrder.replaceAll(/\s/g, "")).toBe(text.replaceAll(/\s/g, ""));
      expect(drawn.some(({ isOpen }) => isOpen)).toBe(false);
    }),
  );
});

test("a text that only grew keeps the blocks that are done", () => {
  const splitter = createBlockSplitter();
  const paragraphs = Array.from({ length: 30 }, (_, index) => `Paragraph ${index}.`);
  const before = splitter.split(paragraphs.join("\n\n"), "grows");
  const after = splitter.split(`${paragraphs.join("\n\n")} And more`, "grows");
  expect(after.slice(0, -1).map(({ raw }) => raw)).toEqual(
    before.slice(0, -1).map(({ raw }) => raw),
  );
  expect(after.at(-1)).toEqual({ raw: "Paragraph 29. And more", isOpen: true });
});

test.each([
  ["a **bold", "a **bold**"],
  ["a `code", "a `code`"],
  ["see [the page](https://exa", "see the page"],
  ["see [the pa", "see the pa"],
  ["almost *", "almost "],
  ["```js\nlet `a", "```js\nlet `a"],
  ["done **well** and `so`", "done **well** and `so`"],
])("what a stream has begun is shown as it will be: %s", (raw, shown) => {
  expect(closeOpenEnds(raw)).toBe(shown);
});
