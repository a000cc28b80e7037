import { expect, test } from "vitest";

import { createMarkdown } from "./markdown.ts";
import { createPaint, plainPaint, type Style } from "./paint.ts";

const tagged = (name: Style, text: string): string => `<${name}>${text}</${name}>`;

function draw(text: string, width = 60, paint = plainPaint): string[] {
  const style = { width, paint };
  const rows = createMarkdown();
  return [...rows.push(text, style), ...rows.end(style)];
}

test("code is coloured by its language, also across lines, and other code is in one colour", () => {
  expect(draw("```ts\nconst a = 1; // one\n/* x\ny */ let b;\n```", 60, tagged)).toEqual([
    "<dim>─── ts</dim>",
    "<keyword>const</keyword> a = <number>1</number>; <dim>// one</dim>",
    "<dim>/* x</dim>",
    "<dim>y */</dim> <keyword>let</keyword> b;",
    "<dim>───</dim>",
  ]);
  expect(draw("```klingon\na < b && c\n```", 60, tagged)[1]).toBe("<code>a < b && c</code>");
});

test("a line of code looks the same while it is written and afterwards, and loses no character", () => {
  const line = `if (a < b && c != "d's") { return 'x' }`;
  const rows = createMarkdown();
  const style = { width: 80, paint: plainPaint };
  rows.push("```js\n", style);
  rows.push(line, style);
  expect(rows.open(style)).toEqual([line]);
  expect(rows.push("\n", style)).toEqual([line]);
});

test("the columns of a table are aligned as it says, with styled cells", () => {
  const table = "| n | name | both |\n|--:|:--|:-:|\n| 1 | **a** | x |\n| 100 | bcd | yyy |\n";
  expect(draw(table)).toEqual([
    "  n │ name │ both",
    "────┼──────┼─────",
    "  1 │ a    │  x",
    "100 │ bcd  │ yyy",
  ]);
  expect(draw("| a |\n|---|\n| `b` |\n", 60, tagged).at(-1)).toBe("<code>b</code>");
});

test("the cells of a table that is too wide are wrapped between words", () => {
  const table = "| key | meaning |\n|---|---|\n| a | one two three four five six |\n";
  expect(draw(table, 24)).toEqual([
    "key │ meaning",
    "────┼───────────────────",
    "a   │ one two three four",
    "    │ five six",
  ]);
});

test.each([
  [String.raw`so \(a_1 * b_2 * c\) and \[x\\y\]`],
  [String.raw`$\frac{a}{b}$ and $$a_1^*b_2^*$$`],
  ["$5 and $10 for *a*"],
])("the formulas in %j stay as they were written", (text) => {
  expect(draw(text)).toEqual([text.replace("*a*", "a")]);
});

test("a formula on lines of its own stays as it was written", () => {
  const formula = String.raw`\begin{aligned} a_1 &= b * c * d \\ e \end{aligned}`;
  expect(draw(`\\[\n${formula}\n\\]\n*after*`)).toEqual(["\\[", formula, "\\]", "after"]);
  expect(draw("$$\n*a* b *c*\n$$\n*after*")).toEqual(["$$", "*a* b *c*", "$$", "after"]);
});

/** The relative luminance of one of the 256 colours (WCAG). */
function luminanceOf(colour: number): number {
  const steps = [0, 95, 135, 175, 215, 255];
  const cube = colour - 16;
  const grey = 8 + (colour - 232) * 10;
  const channels =
    colour >= 232
      ? [grey, grey, grey]
      : [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((step) => steps[step] ?? 0);
  const [red = 0, green = 0, blue = 0] = channels.map((value) => {
    const share = value / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const coloured: readonly Style[] = [
  "dim",
  "code",
  "good",
  "bad",
  "accent",
  "keyword",
  "string",
  "number",
  "name",
];

test.each(coloured)("the colour for %s can be read on black and on white", (style) => {
  const paint = createPaint({ isTTY: true }, { TERM: "xterm-256color" });
  // oxlint-disable-next-line no-control-regex -- a colour
  const colour = Number(/\u001b\[38;5;(\d+)m/.exec(paint(style, "x"))?.[1]);
  const luminance = luminanceOf(colour);
  expect((luminance + 0.05) / 0.05).toBeGreaterThan(3.8);
  expect(1.05 / (luminance + 0.05)).toBeGreaterThan(3.8);
});

test("a person who declines colours gets none", () => {
  const paint = createPaint({ isTTY: true }, { TERM: "xterm-256color", NO_COLOR: "1" });
  expect(paint("accent", "x")).toBe("x");
});
