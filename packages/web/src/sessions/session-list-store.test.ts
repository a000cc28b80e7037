import { emptySessionRead } from "@holdfast/client";
import { ids, type OwnerId, type SessionView } from "@holdfast/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { listItems } from "./session-list.tsx";
import { compareSessions, insertRow, mergePage } from "./session-list-store.ts";

const pool = Array.from({ length: 30 }, () => ids.make("session"));

function session(index: number, sortAt: number): SessionView {
  const id = pool[index] ?? ids.make("session");
  return { ...emptySessionRead(id, "own_1" as OwnerId).session, sortAt };
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
        held = mergePage(held, page, after, from + size < now.length);
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
  expect(mergePage(rows, [renamed], first, true)).toEqual([first, renamed, fourth, fifth]);
});

test("a row that moved stands in its place, once", () => {
  fc.assert(
    fc.property(lists, fc.nat(29), fc.nat(12), (rows, index, at) => {
      const moved = session(index, at);
      const others = rows.filter(({ id }) => id !== moved.id);
      expect(insertRow(rows, moved)).toEqual([...others, moved].toSorted(compareSessions));
    }),
  );
});

test("the list shows the pinned ones and then every other once, under the heading of its age", () => {
  const now = 1_000;
  const days = [0, 0, 1, 3, 6, 8, 400];
  const rows = days.map((age, index) => session(index, now - age)).toSorted(compareSessions);
  const [pinned] = rows.slice(2, 3);
  if (pinned === undefined) throw new Error("no rows");
  const items = listItems(rows, [pinned], (at) => now - at);
  const shown = Array.from({ length: items.count }, (_, at) => items.at(at));
  const text = shown.map((item) =>
    item?.kind === "session" ? now - item.session.sortAt : item?.text,
  );
  expect(text).toEqual(["Pinned", 1, "Today", 0, 0, "Earlier this week", 3, 6, "Earlier", 8, 400]);
  expect(items.at(items.count)).toBe(null);
});
