import type { SessionView } from "@holdfast/protocol";
import { strings } from "../strings/strings.ts";
import { binarySearch } from "./session-list-store.ts";

export type ListItem =
  | { readonly kind: "heading"; readonly key: string; readonly text: string }
  | { readonly kind: "session"; readonly key: string; readonly session: SessionView };

/** What stands below another in the list. Made when it is asked for: few of very many are ever in sight. */
export interface ListItems {
  readonly count: number;
  at(index: number): ListItem | null;
}

interface Group {
  readonly heading: string;
  readonly rows: readonly SessionView[];
  /** Which of the rows are in it. */
  readonly from: number;
  readonly to: number;
}

/** The pinned ones, then the others by their age. */
export function listItems(
  sessions: readonly SessionView[],
  pinned: readonly SessionView[],
  daysAgo: (at: number) => number,
): ListItems {
  const isPinned = new Set(pinned.map(({ id }) => id));
  const others = pinned.length === 0 ? sessions : sessions.filter(({ id }) => !isPinned.has(id));
  const groups: readonly Group[] = [
    { heading: strings.sessions.pinned, rows: pinned, from: 0, to: pinned.length },
    ...groupByAge(others, daysAgo),
  ].filter(({ from, to }) => from < to);
  const sizes = groups.map(({ from, to }) => 1 + to - from);
  return {
    count: sizes.reduce((sum, size) => sum + size, 0),
    at(index) {
      let rest = index;
      for (const [at, { heading, rows, from }] of groups.entries()) {
        const size = sizes[at] ?? 0;
        if (rest === 0) return { kind: "heading", key: heading, text: heading };
        const session = rest < size ? rows[from + rest - 1] : undefined;
        if (session !== undefined) return { kind: "session", key: session.id, session };
        rest -= size;
      }
      return null;
    },
  };
}

/** The list is in the order of age, so each group is a stretch of it. */
function groupByAge(rows: readonly SessionView[], daysAgo: (at: number) => number): Group[] {
  const w = strings.sessions;
  const ages = [
    [w.today, 1],
    [w.yesterday, 2],
    [w.week, 7],
    [w.older, Infinity],
  ] as const;
  let from = 0;
  return ages.map(([heading, days]) => {
    const begins = from;
    const to = binarySearch(rows.length, (at) => daysAgo(rows[at]?.sortAt ?? 0) >= days);
    from = Math.max(begins, to);
    return { heading, rows, from: begins, to: from };
  });
}
