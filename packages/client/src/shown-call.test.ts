import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readShown } from "./shown-call.ts";

/** Reads the words back, as a careful person would. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|([^\s"]+)/g)].map(
    ([, quoted, plain = ""]) => quoted ?? plain,
  );
}

test("[safety] the words of a command on one line can be read back exactly", () => {
  const inner = fc
    .array(fc.constantFrom("a", "-", "/", " ", "  ", "#", ";", "é", String.raw`\"`, "\\\\", "$"), {
      maxLength: 6,
    })
    .map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(fc.array(inner, { minLength: 1, maxLength: 5 }), (words) => {
      const shown = ['Runs in "/work":', ...words.map((word) => `  "${word}"`)].join("\n");
      const { heading, body } = readShown("terminal", shown);
      expect([heading, wordsOf(body)]).toEqual(['Runs in "/work":', words]);
    }),
  );
});

test("[safety] rows that are not all words stay as the host wrote them", () => {
  const rows = '  "make"\n[9 more characters: too much to show, so it cannot be allowed]';
  expect(readShown("terminal", `Runs in "/work":\n${rows}`).body).toBe(rows);
  const line = '  "make"\n  "all"';
  expect(readShown("terminal", `Shell command in "/work":\n${line}`).body).toBe(line);
});

test("the lines of a change are told apart", () => {
  const kinds = (name: string, ...lines: string[]) => {
    const { kindOf } = readShown(name, `Heading:\n${lines.join("\n")}`);
    return lines.map(kindOf);
  };
  expect(kinds("edit_file", "-old", "+new", "[1 empty line]")).toEqual([
    "removed",
    "added",
    "same",
  ]);
  expect(kinds("apply_patch", "  --- a", "  +++ b", "  -x", "  +y", "   z")).toEqual([
    "same",
    "same",
    "removed",
    "added",
    "same",
  ]);
  expect(kinds("write_file", "  text", "[no line break at the end]")).toEqual(["added", "same"]);
  expect(kinds("terminal", "  -x")).toEqual(["same"]);
});
