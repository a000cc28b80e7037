import { stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { cleanJson, cleanLine, cleanText } from "./text.ts";
import { fitEndTo, fitTo, splitGraphemes, widthOf } from "./width.ts";
import { LineEditor, drawPrompt } from "./line-editor.ts";
import { createMarkdown } from "./markdown.ts";
import { createPaint, plainPaint } from "./paint.ts";
import { createScreen } from "./screen.ts";
import { TerminalWindow } from "@holdfast/testing/host/terminal-window";

// oxlint-disable-next-line no-control-regex -- what must not reach a terminal
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200e\u200f]/;

const hostilePiece = fc.constantFrom(
  "\u001b[2J",
  "\u001b]0;owned\u0007",
  "\u001b]52;c;aGk=\u0007",
  "\u009b31m",
  "\r",
  "\b\b\b",
  "\u202e",
  "\u001bP+q\u001b\\",
  "\u001b",
  "[?1049h",
);
const modelOutput = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.string({ unit: "grapheme", maxLength: 20 }),
      hostilePiece,
      fc.constantFrom(
        "**",
        "`",
        "```\n",
        "| a | b |\n",
        "\n",
        "# ",
        "- ",
        "> ",
        "[x](y)",
        "日本",
        "👩‍👩‍👧",
        "é",
      ),
    ),
    { maxLength: 30 },
  )
  .map((pieces) => pieces.join(""));

test("no model output is obeyed by a terminal, however it is split", () => {
  fc.assert(
    fc.property(
      modelOutput,
      fc.nat({ max: 200 }),
      fc.integer({ min: 10, max: 120 }),
      (text, cut, width) => {
        const style = { width, paint: plainPaint };
        const rows = createMarkdown();
        const shown = [
          ...rows.push(text.slice(0, cut), style),
          ...rows.open(style),
          ...rows.push(text.slice(cut), style),
          ...rows.end(style),
        ];
        for (const row of [...shown, cleanLine(text)])
          expect([unsafe.test(row), row.includes("\n")]).toEqual([false, false]);
        expect(unsafe.test(cleanText(text).replaceAll(/[\n\t]/g, ""))).toBe(false);
        expect(unsafe.test(cleanJson({ text }))).toBe(false);
        expect(JSON.parse(cleanJson({ text }))).toEqual({ text });
      },
    ),
  );
});

test("rows don't depend on how the text was split, and keep all words", () => {
  const words = fc.array(fc.constantFrom("one", "two", "**three**", "日本語", "x".repeat(30)), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(words, fc.array(fc.nat({ max: 300 })), (list, cuts) => {
      const text = `${list.join(" ")}\n\nend`;
      const style = { width: 24, paint: plainPaint };
      const whole = createMarkdown();
      const expected = [...whole.push(text, style), ...whole.end(style)];
      const pieces = createMarkdown();
      const offsets = [0, ...cuts.map((cut) => cut % text.length).toSorted((a, b) => a - b)];
      const rows = offsets.flatMap((from, index) =>
        pieces.push(text.slice(from, offsets[index + 1]), style),
      );
      expect([...rows, ...pieces.end(style)]).toEqual(expected);
      for (const row of expected) expect(widthOf(row)).toBeLessThanOrEqual(24);
      const lettersOf = (from: string) => from.replaceAll(/[\s*]/g, "");
      expect(lettersOf(expected.join(""))).toBe(lettersOf(text));
    }),
  );
});

const hugeLines = [
  "a_b_c_",
  "*",
  "_",
  "`",
  "[",
  "![",
  "](",
  "~~a",
  "**_",
  "*a **b ",
  "[a](",
  "<a href=",
  "http://a.",
  "# ",
  "> ",
  "| a ",
  "日本",
  "e\u0301\u0302",
  " ",
];

test.each(hugeLines)("a line of 40,000 characters of %j is shown in rows that fit", (unit) => {
  const text = unit.repeat(40_000 / unit.length);
  const style = { width: 20, paint: plainPaint };
  const draw = (chunk: number): string[] => {
    const rows = createMarkdown();
    const shown: string[] = [];
    for (let at = 0; at < text.length; at += chunk) {
      shown.push(...rows.push(text.slice(at, at + chunk), style));
      expect(rows.open(style).length).toBeLessThan(1_100);
    }
    return [...shown, ...rows.end(style)];
  };
  const whole = draw(text.length);
  for (const row of whole) expect(widthOf(row)).toBeLessThanOrEqual(20);
  expect(draw(1_999)).toEqual(whole);
});

test("an endless table and an endless line of code are shown before they end", () => {
  const style = { width: 80, paint: plainPaint };
  const table = createMarkdown();
  expect(table.push("| a | b |\n".repeat(1_000), style)).toHaveLength(1_000);
  expect(table.open(style)).toEqual([]);
  const code = createMarkdown();
  code.push("```\n", style);
  expect(code.push("x".repeat(100_001), style)).toEqual(
    Array.from({ length: 10 }, () => "x".repeat(10_000)),
  );
  expect(code.open(style)).toEqual(["x"]);
});

test.each([
  ["e\u0301", 1],
  ["日", 2],
  ["👩‍👩‍👧", 2],
  ["\u200b", 0],
  ["ｆ", 2],
  ["한", 2],
  ["❤️", 2],
  ["a", 1],
])("%j takes %i columns", (text, columns) => {
  expect(widthOf(text)).toBe(columns);
});

test("truncated text never overflows and never splits a character", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }),
      fc.integer({ min: 1, max: 20 }),
      (text, columns) => {
        for (const fitted of [fitTo(text, columns), fitEndTo(text, columns)]) {
          expect(widthOf(fitted)).toBeLessThanOrEqual(columns);
          expect(fitted.isWellFormed()).toBe(true);
        }
      },
    ),
  );
});

test("a prompt shows every typed character on rows that fit, with the cursor in place", () => {
  const typed = fc.string({ unit: "grapheme", maxLength: 60 });
  fc.assert(
    fc.property(typed, fc.integer({ min: 6, max: 40 }), fc.nat(), (text, width, seed) => {
      const positions = [0];
      for (const grapheme of splitGraphemes(text))
        positions.push((positions.at(-1) ?? 0) + grapheme.length);
      const cursor = positions[seed % positions.length] ?? 0;
      const drawn = drawPrompt("› ", { text, cursor }, width);
      const shown = drawn.rows.map((row) => row.slice(2)).join("");
      expect(shown).toBe(cleanText(text).replaceAll("\n", "").replaceAll("\t", " "));
      for (const row of drawn.rows) expect(widthOf(row)).toBeLessThanOrEqual(width);
      expect(drawn.column).toBeLessThanOrEqual(width);
      expect(drawn.rows[drawn.row]).toBeDefined();
    }),
  );
});

test("an editor's cursor never stands inside a character, and its text is never lost", () => {
  const press = fc.oneof(
    fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 1 })
      .map((typed) => ({ typed, key: {} })),
    fc
      .constantFrom("left", "right", "home", "end", "up", "down", "backspace", "delete", "enter")
      .map((name) => ({ typed: undefined, key: { name } })),
    fc
      .constantFrom("a", "e", "k", "u", "w", "left", "right")
      .map((name) => ({ typed: undefined, key: { name, ctrl: true } })),
  );
  fc.assert(
    fc.property(fc.array(press, { maxLength: 60 }), (presses) => {
      const editor = new LineEditor(["before"]);
      for (const { typed, key } of presses) {
        editor.press(typed, key);
        expect(editor.cursor).toBeGreaterThanOrEqual(0);
        expect(editor.cursor).toBeLessThanOrEqual(editor.text.length);
        expect(editor.text.slice(0, editor.cursor).isWellFormed()).toBe(true);
      }
      const { text } = editor;
      expect(editor.take()).toBe(text);
    }),
  );
});

test("colours are used only for terminals, and not if declined", () => {
  const terminal = { isTTY: true };
  expect(createPaint(terminal, {})("bold", "x")).toBe("\u001b[1mx\u001b[22m");
  expect(stripVTControlCharacters(createPaint(terminal, {})("bad", "x"))).toBe("x");
  for (const [output, environment] of [
    [{}, {}],
    [terminal, { NO_COLOR: "1" }],
    [terminal, { TERM: "dumb" }],
  ] as const)
    expect(createPaint(output, environment)("bold", "x")).toBe("x");
});

test("a window shows each permanent row once and one region, however often it is resized", () => {
  const region = fc
    .tuple(fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 5 }), fc.nat())
    .map(([lengths, seed]) => {
      const rows = lengths.map((length, index) => String(index).repeat(length));
      const row = seed % rows.length;
      return { rows, cursor: { row, column: seed % ((rows[row]?.length ?? 0) + 1) } };
    });
  const step = fc.record({ region, columns: fc.integer({ min: 12, max: 60 }) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
      const window = new TerminalWindow(60, 100);
      const screen = createScreen(window);
      for (const [index, { region: drawn, columns }] of steps.entries()) {
        screen.show([`permanent ${index}`], fitRegion(drawn, screen.width));
        window.resize(columns);
      }
      screen.show([], { rows: ["last"] });
      const permanent = steps.map((_, index) => `permanent ${index}`);
      expect(window.text()).toBe([...permanent, "last"].join("\n"));
    }),
  );
});

/** A real prompt's cursor is never beyond the width. */
function fitRegion(
  { rows, cursor }: { rows: readonly string[]; cursor: { row: number; column: number } },
  width: number,
) {
  return { rows, cursor: { ...cursor, column: Math.min(cursor.column, width) } };
}
