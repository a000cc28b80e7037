import { expect, test } from "vitest";

import { LineEditor } from "./line-editor.ts";
import { createMarkdown } from "./markdown.ts";
import { createScreen } from "./screen.ts";
import { plainPaint } from "./paint.ts";

function draw(text: string, width = 40): string[] {
  const style = { width, paint: plainPaint };
  const rows = createMarkdown();
  return [...rows.push(text, style), ...rows.end(style)];
}

test("Markdown is rendered as terminal rows", () => {
  expect(
    draw(
      "# Title\n\n- one **two**\n  1. three\n- [x] done\n> said\n\n[a](https://b.c) and `d`\n***\n",
    ),
  ).toEqual([
    "Title",
    "",
    "• one two",
    "  1. three",
    "• ☑ done",
    "│ said",
    "",
    "a (https://b.c) and d",
    "────────────────────────────────────────",
  ]);
});

test.each([
  [
    "**bold *and italic* text**",
    "<bold>bold </bold><italic><bold>and italic</bold></italic><bold> text</bold>",
  ],
  ["``a ` b`` and `<b>`", "<code>a ` b</code> and <code><b></code>"],
  [
    '[a](http://x/(y)) [b](http://z "title")',
    "<underline>a</underline><dim> (http://x/(y))</dim> <underline>b</underline><dim> (http://z)</dim>",
  ],
  ["[http://good](http://evil)", "<underline>http://good</underline><dim> (http://evil)</dim>"],
  ["see https://a.b/c_d_e", "see <dim>https://a.b/c_d_e</dim>"],
  ["![alt](u)", "<dim>[image: alt]</dim><dim> (u)</dim>"],
  ["snake_case_name, $5 and $10", "snake_case_name, $5 and $10"],
  ["**unfinished", "**unfinished"],
  ["<br> &lt; &#27;[2J \\*", "<br> &lt; &#27;[2J *"],
])("%j is styled as %j", (text, expected) => {
  const rows = createMarkdown();
  const style = {
    width: 200,
    paint: (name: string, inner: string) => `<${name}>${inner}</${name}>`,
  };
  expect([...rows.push(text, style), ...rows.end(style)]).toEqual([expected]);
});

test("a fence inside a list item is a fence", () => {
  expect(draw("1. do\n     ```sh\n     **ls**\n     ```\n2. done")).toEqual([
    "1. do",
    "─── sh",
    "     **ls**",
    "───",
    "2. done",
  ]);
  expect(draw("```\n    ```\n```")).toEqual(["───", "    ```", "───"]);
});

test("code is shown as it is, until its own fence ends it", () => {
  expect(draw("~~~~ts\nif (a) {\n\t**b**\n```\n~~~~\nafter")).toEqual([
    "─── ts",
    "if (a) {",
    "    **b**",
    "```",
    "───",
    "after",
  ]);
});

test("a table has columns if there is room, and otherwise one cell per row", () => {
  const table = "| name | value |\n|---|---|\n| 日本 | 1 |\n| b | two |\n";
  expect(draw(table)).toEqual(["name │ value", "─────┼──────", "日本 │ 1", "b    │ two"]);
  expect(draw(table, 9)).toEqual([
    "name:",
    "  日本",
    "value:",
    "  1",
    "",
    "name: b",
    "value:",
    "  two",
    "",
  ]);
});

test("a wrapped list item is indented under its text", () => {
  expect(draw("- one two three four", 12)).toEqual(["• one two", "  three four"]);
});

test("a paste of several lines is one text, and is sent only by Enter", () => {
  const editor = new LineEditor();
  editor.press(undefined, { name: "paste-start" });
  for (const typed of ["a", "\r", "b", "\t", "c"])
    editor.press(typed, { name: typed === "\r" ? "return" : typed === "\t" ? "tab" : typed });
  editor.press(undefined, { name: "paste-end" });
  expect(editor.text).toBe("a\nb\tc");
  expect(editor.press("\r", { name: "return" })).toBe("submit");
});

test("the history goes back and returns to the line being typed", () => {
  const editor = new LineEditor(["first", "second"]);
  editor.set("draft");
  const up = () => editor.press(undefined, { name: "up" });
  const down = () => editor.press(undefined, { name: "down" });
  up();
  expect(editor.text).toBe("second");
  up();
  up();
  expect(editor.text).toBe("first");
  down();
  down();
  expect(editor.text).toBe("draft");
});

test("the region is erased completely, even after the window became narrower", () => {
  const written: string[] = [];
  const output = { write: (text: string) => written.push(text), columns: 80, rows: 24 };
  const screen = createScreen(output);
  screen.show([], { rows: ["x".repeat(60), "› typed"], cursor: { row: 1, column: 3 } });
  screen.show(["done"], { rows: ["› "] });
  expect(written.at(-1)).toBe("\u001b[1A\r\u001b[Jdone\n› ");
  screen.show([], { rows: ["x".repeat(60), "› typed"], cursor: { row: 1, column: 3 } });
  output.columns = 20;
  screen.show([], { rows: ["› "] });
  expect(written.at(-1)).toBe("\u001b[3A\r\u001b[J› ");
});

test("zero columns are treated like an unknown width", () => {
  const written: string[] = [];
  const screen = createScreen({ write: (text) => written.push(text), columns: 0 });
  expect(screen.width).toBe(79);
  const region = { rows: ["one", "two"], cursor: { row: 1, column: 3 } };
  screen.show([], region);
  screen.show([], region);
  expect(written.at(-1)).toContain("\u001b[1A\r");
});

test("a region's rows are cut at the width, so that its height stays known", () => {
  const written: string[] = [];
  const screen = createScreen({ write: (text) => written.push(text), columns: 20, rows: 24 });
  screen.show(["y".repeat(90)], { rows: [`\u001b[36m${"x".repeat(90)}\u001b[39m`, "› "] });
  expect(written.at(-1)).toBe(`${"y".repeat(90)}\n\u001b[36m${"x".repeat(18)}…\u001b[39m\n› `);
  screen.show([], { rows: [] });
  expect(written.at(-1)).toBe("\u001b[1A\r\u001b[J");
});
