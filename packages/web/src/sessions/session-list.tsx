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

/** The headings and rows of the list. Created on demand, because few of very many are ever visible. */
export interface ListItems {
  readonly count: number;
  at(index: number): ListItem | null;
}

interface Group {
  readonly heading: string;
  readonly rows: readonly SessionView[];
  /** The range of `rows` in this group. */
  readonly from: number;
  readonly to: number;
}

/** Pinned sessions first, then the others grouped by age. */
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

/** The list is ordered by age, so each group is a contiguous range of it. */
function groupByAge(rows: readonly SessionView[], daysAgo: (at: number) => number): Group[] {
  const t = strings.sessions;
  const ages = [
    [t.today, 1],
    [t.yesterday, 2],
    [t.week, 7],
    [t.older, Infinity],
  ] as const;
  let from = 0;
  return ages.map(([heading, days]) => {
    const start = from;
    const to = binarySearch(rows.length, (at) => daysAgo(rows[at]?.sortAt ?? 0) >= days);
    from = Math.max(start, to);
    return { heading, rows, from: start, to: from };
  });
}

/** As the styles have it, with the gap below: taller where fingers press, and with larger text. */
function rowHeightPixels(): number {
  const remPixels = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return (matchMedia("(pointer: coarse)").matches ? 2.75 : 2.125) * remPixels + 2;
}

/** Asks which sessions have only got reports without news, once for each state of the list. */
function useQuietReports(sessions: readonly SessionView[] | null): void {
  const { client, readMarks } = useApp();
  const asked = useRef(0);
  useEffect(() => {
    const newest = Math.max(
      0,
      ...(sessions ?? []).filter(readMarks.mayBeQuiet).map(({ sortAt }) => sortAt),
    );
    if (newest <= asked.current) return;
    asked.current = newest;
    void client.listSchedules().then((listed) => {
      if (listed.ok) readMarks.learn(listed.value.schedules);
      // Asked again when the list changes, as it does when the connection is back.
      else if (asked.current === newest) asked.current = 0;
      return undefined;
    });
  }, [client, readMarks, sessions]);
}

/** This close to the last loaded row, more are loaded. */
const edgeRows = 20;

/** The virtualised list: only visible rows are rendered. */
export function SessionList({ open }: { open: SessionId | null }) {
  const { list: store, readMarks } = useApp();
  const view = useStore(store);
  useStore(readMarks);
  useQuietReports(view.sessions);
  const now = Date.now();
  // Rounded to the day, so that the headings are computed again only at midnight.
  const today = new Date(now).setHours(0, 0, 0, 0);
  const items = useMemo(
    () => listItems(view.sessions ?? [], view.pinned, (at) => daysBetween(at, today)),
    [view, today],
  );
  const scrollBox = useRef<HTMLDivElement>(null);
  const rowHeight = useMemo(rowHeightPixels, []);
  const list = useVirtualizer({
    count: items.count,
    getScrollElement: () => scrollBox.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => items.at(index)?.key ?? index,
    overscan: 10,
    paddingEnd: 8,
  });
  const virtualItems = list.getVirtualItems();
  const last = virtualItems.at(-1)?.index ?? 0;
  useEffect(() => {
    if (view.hasMore && last > items.count - edgeRows) void store.loadMore();
  }, [store, view.hasMore, last, items.count]);

  /** Arrow keys move through the list, also to rows that are not rendered yet. */
  function onKeyDown(event: KeyboardEvent): void {
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
      scrollBox.current?.querySelector<HTMLElement>(`[data-index="${to}"] a`)?.focus(),
    );
  }

  if (view.sessions === null)
    return <p className="list-message fade-in-late">{strings.sessions.reading}</p>;
  if (items.count === 0)
    return <p className="list-message">{strings.sessions.none[view.filter.shelf]}</p>;
  return (
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div ref={scrollBox} className="sessions" onKeyDown={onKeyDown}>
      <div className="virtual-rows" style={{ height: list.getTotalSize() }}>
        {virtualItems.map(({ key, index, start }) => {
          const item = items.at(index);
          if (item === null) return null;
          return (
            <div
              key={key}
              data-index={index}
              className="virtual-row"
              style={{ transform: `translateY(${start}px)` }}
            >
              {item.kind === "heading" ? (
                <h2 className="list-heading">{item.text}</h2>
              ) : (
                <SessionRow
                  session={item.session}
                  isOpen={item.session.id === open}
                  isUnread={item.session.id !== open && readMarks.isUnread(item.session)}
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
