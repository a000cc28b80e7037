import { stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import {
  cleanJson,
  cleanLine,
  cleanText,
  fitEndTo,
  fitTo,
  splitGraphemes,
  widthOf,
} from "./text.ts";
import { LineEditor, drawPrompt } from "./line-editor.ts";
import { createMarkdown } from "./markdown.ts";
import { createPaint, plainPaint } from "./screen.ts";

// oxlint-disable-next-line no-control-regex -- what must not reach a terminal
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200e\u200f]/;

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
const said = fc
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

test("nothing that a model says is obeyed by a terminal, however it is cut into pieces", () => {
  fc.assert(
    fc.property(
      said,
      fc.nat({ max: 200 }),
      fc.integer({ min: 10, max: 120 }),
      (text, cut, width) => {
        const look = { width, paint: plainPaint };
        const rows = createMarkdown();
        const shown = [
          ...rows.push(text.slice(0, cut), look),
          ...rows.open(look),
          ...rows.push(text.slice(cut), look),
          ...rows.end(look),
        ];
        for (const row of [...shown, cleanLine(text)])
          expect([obeyed.test(row), row.includes("\n")]).toEqual([false, false]);
        expect(obeyed.test(cleanText(text).replaceAll(/[\n\t]/g, ""))).toBe(false);
        expect(obeyed.test(cleanJson({ text }))).toBe(false);
        expect(JSON.parse(cleanJson({ text }))).toEqual({ text });
      },
    ),
  );
});

test("rows are the same however the text came, and keep its words", () => {
  const words = fc.array(fc.constantFrom("one", "two", "**three**", "日本語", "x".repeat(30)), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(words, fc.array(fc.nat({ max: 300 })), (list, cuts) => {
      const text = `${list.join(" ")}\n\nend`;
      const look = { width: 24, paint: plainPaint };
      const whole = createMarkdown();
      const expected = [...whole.push(text, look), ...whole.end(look)];
      const pieces = createMarkdown();
      const places = [0, ...cuts.map((cut) => cut % text.length).toSorted((a, b) => a - b)];
      const rows = places.flatMap((from, at) =>
        pieces.push(text.slice(from, places[at + 1]), look),
      );
      expect([...rows, ...pieces.end(look)]).toEqual(expected);
      for (const row of expected) expect(widthOf(row)).toBeLessThanOrEqual(24);
      const bare = (from: string) => from.replaceAll(/[\s*]/g, "");
      expect(bare(expected.join(""))).toBe(bare(text));
    }),
  );
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

test("a text that is cut to fit never overflows and never begins or ends in half a character", () => {
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

test("a prompt shows every character that was typed, on rows that fit, with the cursor on its place", () => {
  const typed = fc.string({ unit: "grapheme", maxLength: 60 });
  fc.assert(
    fc.property(typed, fc.integer({ min: 6, max: 40 }), fc.nat(), (text, width, seed) => {
      const places = [0];
      for (const each of splitGraphemes(text)) places.push((places.at(-1) ?? 0) + each.length);
      const cursor = places[seed % places.length] ?? 0;
      const drawn = drawPrompt("› ", { text, cursor }, width);
      const shown = drawn.rows.map((row) => row.slice(2)).join("");
      expect(shown).toBe(cleanText(text).replaceAll("\n", "").replaceAll("\t", " "));
      for (const row of drawn.rows) expect(widthOf(row)).toBeLessThanOrEqual(width);
      expect(drawn.column).toBeLessThanOrEqual(width);
      expect(drawn.rows[drawn.row]).toBeDefined();
    }),
  );
});

test("an editor never loses what was typed, and its cursor never stands inside a character", () => {
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

test("colour is for terminals, and not for those who have said no", () => {
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
