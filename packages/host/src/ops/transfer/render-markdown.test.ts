import { expect, test } from "vitest";

import { renderMarkdown } from "./render-markdown.ts";

test("headings, lists, tables and code of an answer are drawn", () => {
  const html = renderMarkdown(
    "# Tides\n\n- **high**\n- low\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```js\n1 < 2\n```\n",
  );
  expect(html).toContain("<h3>Tides</h3>");
  expect(html).toContain("<li><strong>high</strong></li>");
  expect(html).toContain('<td align="right">2</td>');
  expect(html).toContain('<code class="language-js">1 &lt; 2');
});

test.each([
  ["<script>alert(1)</script>", "<script"],
  ["a <img src=x onerror=alert(1)> b", "<img"],
  ["![a picture](https://example.org/pixel.png)", "example.org"],
  ["[a](javascript:alert(1))", "javascript:"],
  ["[a](data:text/html,<b>)", "href"],
  ['[a](https://example.org/"onmouseover="x "t")', 'onmouseover="'],
  ["`<script>`", "<script"],
])("[safety] nothing active comes out of %j", (text, active) => {
  expect(renderMarkdown(text)).not.toContain(active);
});

test("a link keeps its address, and a line that nobody reads is not parsed", () => {
  expect(renderMarkdown("[tides](https://example.org/a?b=1&c=2)")).toBe(
    '<p><a href="https://example.org/a?b=1&amp;c=2">tides</a></p>\n',
  );
  expect(renderMarkdown("[".repeat(20_000))).toBeNull();
});

test("[safety] a table of millions of cells and deeply nested quotes are shown as they are, not parsed", () => {
  const table = `${"|a".repeat(2_000)}|\n${"|-".repeat(2_000)}|\n${"|x\n".repeat(2_000)}`;
  for (const text of [table, "> ".repeat(4_900)]) expect(renderMarkdown(text)).toBeNull();
});
