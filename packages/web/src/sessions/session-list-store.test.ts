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

/** Ordered lists, as the host returns them. */
const lists = fc
  .uniqueArray(fc.tuple(fc.nat(29), fc.nat(12)), { selector: ([index]) => index })
  .map((rows) => rows.map(([index, at]) => session(index, at)).toSorted(compareSessions));

test("reading a changed list page by page yields exactly that list, whatever was loaded before", () => {
  fc.assert(
    fc.property(lists, lists, fc.integer({ min: 1, max: 9 }), (stale, current, size) => {
      let rows: readonly SessionView[] = stale;
      let after: SessionView | null = null;
      for (let from = 0; from === 0 || from < current.length; from += size) {
        const page = current.slice(from, from + size);
        rows = mergePage(rows, page, after, from + size < current.length);
        after = page.at(-1) ?? null;
      }
      expect(rows).toEqual(current);
    }),
  );
});

test("merging a page keeps the rows outside of it", () => {
  const rows = [9, 7, 5, 3, 1].map((at, index) => session(index, at));
  const [first, , third, fourth, fifth] = rows;
  if (first === undefined || third === undefined) throw new Error("no rows");
  // The second row is gone, and the third has another title.
  const renamed = { ...third, title: "renamed" };
  expect(mergePage(rows, [renamed], first, true)).toEqual([first, renamed, fourth, fifth]);
});

test("a moved row is inserted in order, once", () => {
  fc.assert(
    fc.property(lists, fc.nat(29), fc.nat(12), (rows, index, at) => {
      const moved = session(index, at);
      const others = rows.filter(({ id }) => id !== moved.id);
      expect(insertRow(rows, moved)).toEqual([...others, moved].toSorted(compareSessions));
    }),
  );
});

test("the list shows pinned sessions, then every other session once, under a heading for its age", () => {
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
  expect(text).toEqual(["Pinned", 1, "Today", 0, 0, "Previous 7 days", 3, 6, "Earlier", 8, 400]);
  expect(items.at(items.count)).toBe(null);
});
