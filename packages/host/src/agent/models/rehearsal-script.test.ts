import * as fc from "fast-check";
import { expect, test } from "vitest";

import { type Directive, parseDirectives } from "./rehearsal-script.ts";

type WellFormed = Exclude<Directive, { kind: "misread" }>;

function write(directive: WellFormed): string {
  switch (directive.kind) {
    case "words":
    case "think":
      return `{${directive.kind}:${directive.count}}`;
    case "rate":
      return `{rate:${directive.wordsPerSecond}}`;
    case "stall":
      return `{stall:${directive.seconds}}`;
    case "fail":
      return `{fail:${directive.status}${directive.when === "always" ? "!" : ""}}`;
    case "tool":
      return `{tool:${directive.name} ${JSON.stringify(directive.input)}}`;
    case "echo":
      return "{echo}";
  }
}

const count = fc.integer({ min: 0, max: 1_000_000 });
/** JSON writes `-0` as `0`, so it does not round-trip. */
const input = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as never);
const wellFormed: fc.Arbitrary<WellFormed> = fc.oneof(
  fc.record({ kind: fc.constant("words" as const), count }),
  fc.record({ kind: fc.constant("think" as const), count }),
  fc.record({
    kind: fc.constant("rate" as const),
    wordsPerSecond: fc.integer({ min: 1, max: 9_999 }).map((tenths) => tenths / 10),
  }),
  fc.record({ kind: fc.constant("stall" as const), seconds: fc.integer({ min: 0, max: 86_400 }) }),
  fc.record({
    kind: fc.constant("fail" as const),
    status: fc.integer({ min: 400, max: 599 }),
    when: fc.constantFrom("first" as const, "always" as const),
  }),
  fc.record({
    kind: fc.constant("tool" as const),
    name: fc.stringMatching(/^[a-z][a-z0-9_.-]{0,20}$/),
    input,
  }),
  fc.record({ kind: fc.constant("echo" as const) }),
);
const plainText = fc.string({ unit: "binary" }).map((text) => text.replaceAll("{", ""));
/** Near-directives find more bugs than arbitrary text. */
const nearlyDirectives = fc
  .array(
    fc.oneof(
      fc.constantFrom("{", "}", '"', "\\", ":", "!", " ", "{tool:", "{words:", "{fail:4", "{echo"),
      wellFormed.map(write),
      fc.string(),
    ),
  )
  .map((parts) => parts.join(""));

test("well-formed directives are parsed in order, whatever is between them", () => {
  const program = fc.array(fc.tuple(plainText, wellFormed));
  fc.assert(
    fc.property(program, plainText, (parts, tail) => {
      const text = parts.map(([before, directive]) => before + write(directive)).join("") + tail;
      expect(parseDirectives(text)).toEqual(parts.map(([, directive]) => directive));
    }),
  );
});

test("any text parses without an error, and misread pieces are found in it in order", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), nearlyDirectives), (text) => {
      let position = 0;
      for (const directive of parseDirectives(text)) {
        if (directive.kind !== "misread") continue;
        position = text.indexOf(directive.source, position);
        expect(position).toBeGreaterThanOrEqual(0);
        position += directive.source.length;
      }
    }),
    { numRuns: 500 },
  );
});

test("braces within a tool's input, bare or in a string, do not end the directive", () => {
  const value = { command: 'echo "}{\\" && awk {print}', nested: { list: [{}, "}"] } };
  expect(parseDirectives(`Run {tool:terminal ${JSON.stringify(value, null, 2)}}{echo}`)).toEqual([
    { kind: "tool", name: "terminal", input: value },
    { kind: "echo" },
  ]);
});

test("a tool without an input gets an empty one, and the space before the input is optional", () => {
  expect(parseDirectives('{tool:clock}{tool:clock{"zone":"utc"}}')).toEqual([
    { kind: "tool", name: "clock", input: {} },
    { kind: "tool", name: "clock", input: { zone: "utc" } },
  ]);
});

test("a capital letter and spaces around the argument are accepted", () => {
  expect(parseDirectives("{Words: 5 }")).toEqual([{ kind: "words", count: 5 }]);
});

test.each(["no braces", "{}", "{ return 1 }", '{"a": {"b": 1}}', "}{", "a } b", "{1}"])(
  "%j is plain text",
  (text) => {
    expect(parseDirectives(text)).toEqual([]);
  },
);

test.each([
  ["{words:many}", "it takes a whole number"],
  ["{words}", "it takes a whole number"],
  ["{words:1000001}", "it takes a whole number up to 1000000"],
  ["{think:-1}", "it takes a whole number"],
  ["{rate:0}", "it takes words a second"],
  ["{stall:1e9}", "it takes seconds"],
  ["{fail:200}", "it takes an HTTP status"],
  ["{fail:429!!}", "it takes an HTTP status"],
  ["{tool}", "it takes a tool and its input"],
  ["{tool:terminal ls}", "its input is not JSON"],
  ['{tool:terminal {"n":1e999}}', "its input is not JSON"],
  ["{echo:loud}", "it takes nothing"],
  ["{name}", "there is no directive of that name"],
])("%s is misread with a reason, and the rest is still parsed", (source, reason) => {
  const [misread, next] = parseDirectives(`${source} {words:1}`);
  expect(misread).toMatchObject({ kind: "misread", source });
  expect(misread).toHaveProperty("reason", expect.stringContaining(reason));
  expect(next).toEqual({ kind: "words", count: 1 });
});

test("an unclosed directive ends where the next begins; an unclosed tool takes all the rest", () => {
  const reason = "it has no closing brace";
  expect(parseDirectives("{words:5 {echo}")).toEqual([
    { kind: "misread", source: "{words:5 ", reason },
    { kind: "echo" },
  ]);
  expect(parseDirectives('{tool:terminal {"a":1} {echo}')).toEqual([
    { kind: "misread", source: '{tool:terminal {"a":1} {echo}', reason },
  ]);
});

test("a long text of unclosed braces is parsed in linear time", () => {
  // Quadratic work would exceed the test's timeout.
  for (const piece of ["{tool:a ", "{tool:a}", "{words:", '{tool:a "'])
    expect(parseDirectives(piece.repeat(100_000)).length).toBeGreaterThan(0);
});
