import { expect, test } from "vitest";

import { isCostlyMarkdown } from "./costly-markdown.ts";

const wideTable = `${"|a".repeat(1_000)}|\n${"|-".repeat(1_000)}|\n${"|x\n".repeat(2_000)}`;
const smallTable = `|a|b|\n|-|-|\n${"|x|y|\n".repeat(40)}\n`;

test.each([
  ["a table of two million cells", wideTable],
  ["the same table in a quote", wideTable.replaceAll(/^/gm, "> ")],
  ["many tables", `${"|a".repeat(40)}|\n${"|-".repeat(40)}|\n${"|x\n".repeat(40)}\n`.repeat(60)],
  ["quotes in quotes", "> ".repeat(5_000)],
  ["lists in lists on one line", `${"1. ".repeat(500)}x`],
  ["lists in lists", Array.from({ length: 300 }, (_, at) => `${"  ".repeat(at)}- x`).join("\n")],
])("%s would cost too much", (_, text) => {
  expect(isCostlyMarkdown(`Look:\n\n${text}`)).toBe(true);
});

test.each([
  ["a long text", "Tides come and go. ".repeat(20_000)],
  ["ordinary tables", smallTable.repeat(50)],
  ["rules and headings", `Tides\n${"-".repeat(500)}\n\n${"*".repeat(500)}\n`],
  ["deep code", `\`\`\`\n${" ".repeat(300)}x\n\`\`\``],
  ["a quote of a quote", ">>> a\n>> b\n> c\n"],
])("%s is parsed", (_, text) => {
  expect(isCostlyMarkdown(text)).toBe(false);
});
