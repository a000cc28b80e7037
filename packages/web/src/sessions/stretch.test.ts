import { blankRead, ids, type OwnerId, type SessionView } from "@holdfast/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compareSessions, putStretch } from "./stretch.ts";

const pool = Array.from({ length: 30 }, () => ids.make("session"));

function session(index: number, sortAt: number): SessionView {
  const id = pool[index] ?? ids.make("session");
  return { ...blankRead(id, "own_1" as OwnerId).session, sortAt };
}

/** The list on the host, in order. */
const lists = fc
  .uniqueArray(fc.tuple(fc.nat(29), fc.nat(12)), { selector: ([index]) => index })
  .map((rows) => rows.map(([index, at]) => session(index, at)).toSorted(compareSessions));

test("reading a changed list page by page ends with exactly that list, whatever was held before", () => {
  fc.assert(
    fc.property(lists, lists, fc.integer({ min: 1, max: 9 }), (before, now, size) => {
      let held: readonly SessionView[] = before;
      let after: SessionView | null = null;
      for (let from = 0; from === 0 || from < now.length; from += size) {
        const page = now.slice(from, from + size);
        held = putStretch(held, page, after, from + size < now.length);
        after = page.at(-1) ?? null;
      }
      expect(held).toEqual(now);
    }),
  );
});

test("a page leaves alone what lies outside of it", () => {
  const rows = [9, 7, 5, 3, 1].map((at, index) => session(index, at));
  const [first, , third, fourth, fifth] = rows;
  if (first === undefined || third === undefined) throw new Error("no rows");
  // The second is gone; the third was read with another title.
  const renamed = { ...third, title: "renamed" };
  expect(putStretch(rows, [renamed], first, true)).toEqual([first, renamed, fourth, fifth]);
});
