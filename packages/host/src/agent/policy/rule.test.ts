import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { formatRule, parseRule, parseToolRule, type Rule } from "./rule.ts";

describe("a rule", () => {
  const word = fc.string({ unit: "binary", maxLength: 12 }).filter((text) => text.isWellFormed());
  const rules: fc.Arbitrary<Rule> = fc.oneof(
    fc.record({
      kind: fc.constant("argv" as const),
      tool: fc.constant("terminal"),
      argv: fc.array(word, { minLength: 1, maxLength: 5 }).filter(([first]) => first !== ""),
      rest: fc.constantFrom("none" as const, "any" as const),
    }),
    fc.record({
      kind: fc.constant("argv" as const),
      tool: fc.constant("terminal"),
      argv: fc.array(word, { minLength: 1, maxLength: 5 }).filter(([first]) => first !== ""),
      rest: fc.constantFrom("none" as const, "any" as const),
      folder: word.filter((text) => text !== ""),
      hosts: fc.array(fc.constantFrom("a.org", "*.b-c.org", "2001:db8::1", "to", "shell"), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
    fc.record({ kind: fc.constant("shell" as const), tool: fc.constant("terminal"), line: word }),
    fc.record({
      kind: fc.constant("shell" as const),
      tool: fc.constant("terminal"),
      line: word,
      folder: word.filter((text) => text !== ""),
    }),
  );

  test("round-trips through its text", () => {
    fc.assert(
      fc.property(rules, (rule) => {
        expect(parseRule(formatRule(rule))).toEqual(rule);
      }),
    );
  });

  test.each([
    "",
    "terminal:",
    "terminal: *",
    "terminal: g*t status",
    'terminal: "git',
    'terminal: "git"x',
    "terminal shell: not quoted",
    "write_file in [",
    "fetch_url host http://example.org",
    "fetch_url host *",
    "a b",
    'terminal at "": make',
    "terminal at docs: make",
    "terminal to : make",
    "terminal to *: make",
    "terminal to a.org,: make",
    "terminal to a.org b.org: make",
    "../x",
    "x".repeat(3_000),
  ])("cannot be %j", (text) => {
    expect(parseRule(text)).toBeNull();
  });

  test("of the operator starts with its effect", () => {
    expect(parseToolRule("deny fetch_url")).toMatchObject({ effect: "deny" });
    expect(parseToolRule("permit fetch_url")).toBeNull();
  });
});
