import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { type ClientTurn, joinTexts } from "./client-request.ts";
import { compareHistory, prepareHistory } from "./compare-history.ts";

const turn = (user: string, assistant = `to ${user}`): ClientTurn => ({ user, assistant });
const turns = (users: string): ClientTurn[] => users.split("").map((user) => turn(user));

function compare(told: readonly ClientTurn[], ours: readonly ClientTurn[]) {
  const work = { comparisons: 0, characters: 0 };
  const result = compareHistory(prepareHistory(told), ours, (a, b) => {
    work.comparisons += 1;
    work.characters += a.assistant.length;
    return a.user === b.user && b.assistant.startsWith(a.assistant);
  });
  return { ...result, work };
}

describe("a history compared with ours", () => {
  test.each([
    ["continues it", "abcd", "abcd", 3, 4],
    ["lost its beginning", "cd", "abcd", 3, 2],
    ["ends earlier", "ab", "abcd", 1, 2],
    ["was edited in the middle", "aXcd", "abcd", 0, 1],
    ["has turns that never were", "XabYcd", "abcd", 3, 4],
    ["is another one", "xyz", "abcd", -1, 0],
    ["repeats itself, and lost its beginning", "aaa", "aaaaa", 4, 3],
    ["repeats itself, with material between", "aXc", "aac", 2, 2],
  ])("that %s: %s of %s", (_, told, ours, lastCommon, matched) => {
    expect(compare(turns(told), turns(ours))).toMatchObject({ lastCommon, matched });
  });

  test("with a different earlier answer is edited from there on", () => {
    const told = [turn("a", "never said"), turn("b"), turn("c")];
    expect(compare(told, turns("abc"))).toMatchObject({ lastCommon: -1, isEdited: true });
  });

  test("with another unanswered question has not edited our unanswered one", () => {
    const told = [turn("material", ""), turn("b"), turn("c")];
    const ours = [turn("cancelled", ""), turn("b"), turn("c")];
    expect(compare(told, ours)).toMatchObject({ lastCommon: 2, matched: 2, isEdited: false });
  });

  test("that stops in the middle of an answer, or at a line that says what it waits for, is ours", () => {
    expect(compare([turn("a", "to")], turns("a"))).toMatchObject({ lastCommon: 0 });
    expect(compare([turn("a", "to a\n⏸ Waits.")], turns("a"))).toMatchObject({ lastCommon: 0 });
  });

  test("that repeats a question hundreds of times with different answers is edited where it was edited", () => {
    const ours = Array.from({ length: 300 }, (_, index) => turn("continue", `part ${index}`));
    const told = ours.with(40, turn("changed", "x")).with(200, turn("changed again", "y"));
    expect(compare(told, ours)).toMatchObject({ lastCommon: 39, matched: 40, isEdited: false });
    expect(compare(told.slice(41), ours)).toMatchObject({ lastCommon: 199, matched: 159 });
  });

  test("finds as long a sequence as looking at every pair would", () => {
    const some = fc.array(
      fc.constantFrom("a", "b", "c").map((user) => turn(user)),
      { maxLength: 8 },
    );
    const partly = fc.array(
      fc.record({ user: fc.constantFrom("a", "b"), assistant: fc.constantFrom("", "x", "xy") }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(fc.oneof(some, partly), fc.oneof(some, partly), (told, ours) => {
        const { lastCommon, matched, isEdited } = compare(told, ours);
        const longest = longestOfAllPairs(told, ours);
        expect(matched).toBeLessThanOrEqual(longest);
        expect(matched > 0 || isEdited).toBe(longest > 0);
        expect(longest > 0 || lastCommon === -1).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

function longestOfAllPairs(told: readonly ClientTurn[], ours: readonly ClientTurn[]): number {
  const rows = [[0, ...ours.map(() => 0)]];
  for (const [i, one] of told.entries()) {
    const row = [0];
    for (const [j, own] of ours.entries())
      row.push(
        one.user === own.user && own.assistant.startsWith(one.assistant)
          ? (rows[i]?.[j] ?? 0) + 1
          : Math.max(rows[i]?.[j + 1] ?? 0, row[j] ?? 0),
      );
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}

const long = "x".repeat(20_000);
const many = <T>(make: (index: number) => T): T[] =>
  Array.from({ length: 400 }, (_, at) => make(at));

describe("[safety] the work for a hostile history grows with its length and not with its square", () => {
  test.each([
    ["all equal, but for the ends", many(() => turn("a", long)), many(() => turn("a", long))],
    [
      "equal questions, answers that differ at the end",
      many((at) => turn("a", long + at)),
      many((at) => turn("a", `${long}-${at}`)),
    ],
    [
      "answers that are beginnings of all of ours",
      many(() => turn("a", long)),
      many((at) => turn("a", long + at)),
    ],
    ["no answers at all", many(() => turn("a", "")), many((at) => turn("a", long + at))],
    [
      "the other way round",
      many((at) => turn(`${at}`, long)),
      many((at) => turn(`${399 - at}`, long)),
    ],
    [
      "two questions in turn",
      many((at) => turn(`${at % 2}`, long)),
      many((at) => turn(`${(at + 1) % 3}`, long)),
    ],
  ])("%s", (_, told, ours) => {
    const mine = [turn("first"), ...ours.slice(2), turn("last")];
    const { work } = compare(told, mine);
    const characters = told.reduce((sum, { assistant }) => sum + assistant.length, 0);
    expect(work.comparisons).toBeLessThanOrEqual(12 * (told.length + mine.length));
    expect(work.characters).toBeLessThanOrEqual(12 * characters);
  });

  test("thousands of answers in a row are joined without copying what is there already", () => {
    let joined = "";
    const piece = "y".repeat(10_000);
    for (let at = 0; at < 10_000; at += 1) joined = joinTexts(joined, piece);
    expect(joined.length).toBe(10_000 * 10_002 - 2);
  });
});
