import { array, assert, constantFrom, pre, property } from "fast-check";
import { describe, expect, test } from "vitest";

import { createLineMatcher, requiredLiteral } from "./match-lines.ts";

/** Line by line, without any shortcut. */
function plainly(pattern: string, flags: string, text: string): readonly string[] {
  const expression = new RegExp(pattern, flags);
  return text
    .split("\n")
    .flatMap((line, index) =>
      expression.test(line.slice(0, 4_000))
        ? [`f:${index + 1}: ${line.trimEnd().slice(0, 300).toWellFormed()}`]
        : [],
    );
}

const piece = constantFrom(
  "a",
  "b",
  "ab",
  "ba",
  ".",
  "^",
  "$",
  "\\.",
  "\\w",
  "\\b",
  "\\d+",
  "\\/",
  "[ab]",
  "[^a]",
  "[\\]a]",
  "a?",
  "b*",
  "a+",
  "a+?",
  "b{2}",
  "a{0,1}",
  "(?:ab)",
  "(a|b)",
  "a|b",
  "\\x61",
  "é",
  " ",
  "\\u0061",
  "\\p{L}",
  "\\n",
  "\\t",
  "(?!b)",
  "(?<=a)",
);
const text = array(constantFrom("a", "b", "ab", "\n", "\r\n", ".", "/", " ", "é", "0", "\t", "]"), {
  maxLength: 60,
}).map((parts) => parts.join(""));

test("the same lines are found as by looking at each of them", () => {
  assert(
    property(
      array(piece, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("")),
      constantFrom("u", "iu", "", "i"),
      text,
      (pattern, flags, content) => {
        pre(isPattern(pattern, flags));
        const found = createLineMatcher({ pattern, flags }, 1_000)("f", Buffer.from(content));
        expect(found).toEqual(plainly(pattern, flags, content));
      },
    ),
    { numRuns: 3_000 },
  );
});

function isPattern(pattern: string, flags: string): boolean {
  try {
    return new RegExp(pattern, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

describe("what every match has", () => {
  test.each([
    ["heron", "heron"],
    ["heron\\.count\\(", "heron.count("],
    ["tide\\s+table", "table"],
    ["colou?r", "colo"],
    ["x{2}tides", "tides"],
    ["[abc]weir", "weir"],
    ["tides|winds", ""],
    ["(tides)?", ""],
    ["\\bheron\\b", "heron"],
    ["a\\x41tides", "a"],
  ])("of %s is %s", (pattern, literal) => {
    expect(requiredLiteral(pattern)).toBe(literal);
  });
});

test("a file with a NUL in its head is no text, and a long line counts with its beginning", () => {
  const matcher = createLineMatcher({ pattern: "heron", flags: "u" }, 2);
  expect(matcher("f", Buffer.from("heron\0"))).toEqual([]);
  expect(matcher("f", Buffer.from(`${"x".repeat(3_995)}heron`))).toHaveLength(1);
  expect(matcher("f", Buffer.from(`${"x".repeat(3_996)}heron`))).toEqual([]);
  expect(matcher("f", Buffer.from("heron\n".repeat(9)))).toHaveLength(3);
});
