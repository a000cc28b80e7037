import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useMemo, useRef } from "react";
import type { SessionView, SessionId } from "@holdfast/protocol";
import { strings } from "../strings/strings.ts";
import { binarySearch } from "./session-list-store.ts";
import { useApp, useStore } from "../app-context.ts";
import { daysBetween } from "../ui/format-time.ts";
import { SessionRow } from "./session-row.tsx";

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

const rowHeight = 36;
const nearEnd = 20;

/** The list, as long as it may be: only what is in sight is drawn. */
export function SessionList({ open }: { open: SessionId | null }) {
  const { list: store, seen } = useApp();
  const view = useStore(store);
  useStore(seen);
  const now = Date.now();
  // By the day: the headings change at midnight.
  const today = new Date(now).setHours(0, 0, 0, 0);
  const items = useMemo(
    () => listItems(view.sessions ?? [], view.pinned, (at) => daysBetween(at, today)),
    [view, today],
  );
  const place = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: items.count,
    getScrollElement: () => place.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => items.at(index)?.key ?? index,
    overscan: 10,
    paddingEnd: 8,
  });
  const drawn = list.getVirtualItems();
  const last = drawn.at(-1)?.index ?? 0;
  useEffect(() => {
    if (view.hasMore && last > items.count - nearEnd) void store.loadMore();
  }, [store, view.hasMore, last, items.count]);

  /** Up and down go through the list, past what is drawn too. */
  function move(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const target = event.target;
    if (step === undefined || !(target instanceof HTMLAnchorElement)) return;
    event.preventDefault();
    const from = Number(target.closest("[data-index]")?.getAttribute("data-index"));
    let to = from + step;
    while (items.at(to)?.kind === "heading") to += step;
    if (items.at(to) === null) return;
    list.scrollToIndex(to);
    requestAnimationFrame(() =>
      place.current?.querySelector<HTMLElement>(`[data-index="${to}"] a`)?.focus(),
    );
  }

  if (view.sessions === null) return <p className="list-words late">{strings.sessions.reading}</p>;
  if (items.count === 0)
    return <p className="list-words">{strings.sessions.none[view.filter.shelf]}</p>;
  return (
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div ref={place} className="sessions" onKeyDown={move}>
      <div className="rows" style={{ height: list.getTotalSize() }}>
        {drawn.map(({ key, index, start }) => {
          const item = items.at(index);
          if (item === null) return null;
          return (
            <div
              key={key}
              data-index={index}
              className="place"
              style={{ transform: `translateY(${start}px)` }}
            >
              {item.kind === "heading" ? (
                <h2 className="list-heading">{item.text}</h2>
              ) : (
                <SessionRow
                  session={item.session}
                  isOpen={item.session.id === open}
                  isUnread={item.session.id !== open && seen.isUnread(item.session)}
                  now={now}
                />
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}
