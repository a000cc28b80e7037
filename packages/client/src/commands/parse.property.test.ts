import * as fc from "fast-check";
import { expect, test } from "vitest";

import { completeInput, editDistance, nearestName, parseInput, escapeMessage } from "./parse.ts";
import { findCommand, commandNames, commands, commandUsage } from "@holdfast/protocol";

const anyText = fc.string({ unit: "binary", maxLength: 200 });
const words = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 60 })
  .map((text) => text.trim())
  .filter((text) => text !== "");

/** What a text is, by the rule alone. */
function ruleFor(text: string): string {
  if (text.trim() === "") return "nothing";
  if (text.startsWith("//")) return `says ${text.slice(1)}`;
  return text.startsWith("/") ? "command" : `says ${text}`;
}

test("every text is a message, a command or an unknown command, and none is lost", () => {
  const typed = fc.oneof(
    anyText,
    anyText.map((text) => `/${text}`),
  );
  fc.assert(
    fc.property(typed, (text) => {
      const parsed = parseInput(text);
      const isCommand = ["command", "unknown", "misused"].includes(parsed.kind);
      const seen = parsed.kind === "message" ? `says ${parsed.text}` : parsed.kind;
      expect(isCommand ? "command" : seen).toBe(ruleFor(text));
    }),
  );
});

test("any message can be typed, whatever it starts with", () => {
  const messageText = fc.oneof(
    anyText,
    words.map((text) => `/${text}`),
  );
  fc.assert(
    fc.property(
      messageText.filter((text) => text.trim() !== ""),
      (text) => {
        expect(parseInput(escapeMessage(text))).toEqual({ kind: "message", text });
      },
    ),
  );
});

test("each name leads to its command, whatever its case and spacing", () => {
  const takingWords = commandNames.filter((name) => findCommand(name)?.takes.kind === "words");
  const typing = fc.constantFrom(...takingWords).chain((name) =>
    fc.record({
      name: fc.constant(findCommand(name)?.name),
      typed: fc.mixedCase(fc.constant(name)),
      gap: fc.constantFrom(" ", "  ", "\t", "\n"),
      argument: words,
    }),
  );
  fc.assert(
    fc.property(typing, ({ name, typed, gap, argument }) => {
      const parsed = parseInput(`/${typed}${gap}${argument}`);
      expect(parsed).toEqual({ kind: "command", invocation: { name, argument } });
    }),
  );
});

test("a command that takes nothing, a number or a choice refuses everything else and shows its usage", () => {
  const strict = commands.filter(({ takes }) => takes.kind !== "words");
  const argument = fc.oneof(
    words,
    fc.nat().map(String),
    fc.constantFrom("md", "JSON", "Html", "Files"),
  );
  fc.assert(
    fc.property(fc.constantFrom(...strict), argument, (command, text) => {
      const { takes } = command;
      const fits =
        (takes.kind === "count" && /^[1-9]\d*$/.test(text) && Number(text) <= takes.most) ||
        (takes.kind === "count" && takes.options?.includes(text.toLowerCase())) ||
        (takes.kind === "choice" && takes.choices.includes(text.toLowerCase()));
      const parsed = parseInput(`/${command.name} ${text}`);
      const showsUse = parsed.kind === "misused" && parsed.sentence.includes(commandUsage(command));
      expect([parsed.kind, showsUse]).toEqual(fits ? ["command", false] : ["misused", true]);
    }),
  );
});

test("a number and an option go together in any order, and neither comes twice", () => {
  const argumentOf = (text: string): string => {
    const parsed = parseInput(text);
    return parsed.kind === "command" ? parsed.invocation.argument : parsed.kind;
  };
  expect(
    ["/undo", "/undo 2 files", "/undo Files  only 2", "/redo files only", "/versions 3 files"].map(
      argumentOf,
    ),
  ).toEqual(["", "2 files", "2 files only", "files only", "3 files"]);
  expect(
    ["/undo 1 2", "/undo only", "/undo files files", "/versions files only", "/redo 2"].map(
      argumentOf,
    ),
  ).toEqual(["misused", "misused", "misused", "misused", "misused"]);
  expect(completeInput("/undo 2 f").values).toEqual(["/undo 2 files", "/undo 2 files only"]);
});

test("a typo of one letter suggests the intended command", () => {
  const slips = fc.constantFrom(...commands).chain(({ name }) =>
    fc.record({
      name: fc.constant(name),
      at: fc.nat({ max: name.length - 1 }),
      letter: fc.constantFrom(...Array.from("abcdefghijklmnopqrstuvwxyz")),
    }),
  );
  fc.assert(
    fc.property(slips, ({ name, at, letter }) => {
      const typed = name.slice(0, at) + letter + name.slice(at);
      fc.pre(findCommand(typed) === undefined);
      const parsed = parseInput(`/${typed}`);
      expect(parsed.kind).toBe("unknown");
      const nearest = parsed.kind === "unknown" ? parsed.nearest : "";
      // Another name may be as close; none may be closer than the suggested one.
      const nearestOf = (candidate: string) =>
        Math.min(
          ...commandNames
            .filter((other) => findCommand(other)?.name === candidate)
            .map((other) => (other.startsWith(typed) ? 0.5 : editDistance(typed, other))),
        );
      expect(nearestOf(nearest)).toBeLessThanOrEqual(nearestOf(name));
    }),
  );
});

test("a word that is like no command suggests the list of them", () => {
  const nearest = ["/init", "/permissions", "/?"].map((text) => parseInput(text));
  expect(nearest).toEqual(
    ["init", "permissions", "?"].map((name) => ({ kind: "unknown", name, nearest: "help" })),
  );
  expect(["/clear", "/models", "/rewind"].map((text) => parseInput(text))).toMatchObject([
    { invocation: { name: "new" } },
    { invocation: { name: "model" } },
    { invocation: { name: "undo" } },
  ]);
});

test("the edit distance is a metric, and one swap, change or gap counts as one", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 });
  fc.assert(
    fc.property(word, word, (a, b) => {
      expect(editDistance(a, b)).toBe(editDistance(b, a));
      expect(editDistance(a, b) === 0).toBe(a === b);
      expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  );
  expect([editDistance("udno", "undo"), editDistance("und", "undo")]).toEqual([1, 1]);
  expect(nearestName("", [])).toBeUndefined();
});

test("every completion extends the typed text and names a command", () => {
  const prefix = fc
    .constantFrom(...commandNames)
    .chain((name) => fc.nat({ max: name.length }).map((length) => `/${name.slice(0, length)}`));
  fc.assert(
    fc.property(prefix, (text) => {
      const { values } = completeInput(text);
      expect(values.length).toBeGreaterThan(0);
      for (const value of values) {
        expect(value.startsWith(text)).toBe(true);
        expect(["command", "misused"]).toContain(parseInput(value).kind);
      }
    }),
  );
});

test("arguments are completed if their values are known, and requested if only a host knows them", () => {
  expect(completeInput("/export h")).toEqual({ values: ["/export html"] });
  expect(completeInput("/help un")).toEqual({ values: ["/help undo"] });
  expect(completeInput("/resume gar")).toEqual({
    values: [],
    asks: { what: "session", typed: "gar", before: "/resume " },
  });
  for (const text of [
    "",
    "hello",
    "//un",
    "/undo ",
    "/undo 1",
    "/undo 1 ",
    "/redo ",
    "/nothing x",
    "/ex\nport",
  ])
    expect(completeInput(text).values).toEqual([]);
});
