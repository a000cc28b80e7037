import type { SessionId, SessionView } from "@holdfast/protocol";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useMemo, useRef } from "react";
import { useApp, useStore } from "../app-context.ts";
import { daysBetween } from "../ui/index.ts";
import { words } from "../words.ts";
import { SessionRow } from "./session-row.tsx";

type Item =
  | { readonly kind: "heading"; readonly key: string; readonly text: string }
  | { readonly kind: "session"; readonly key: string; readonly session: SessionView };

const rowHeight = 36;
const nearEnd = 20;

/** The list, as long as it may be: only what is in sight is drawn. */
export function SessionList({ open }: { open: SessionId | null }) {
  const { list: store, seen } = useApp();
  const view = useStore(store);
  useStore(seen);
  const now = Date.now();
  const today = new Date(now).toDateString();
  // By the day: the headings change at midnight.
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  const items = useMemo(() => itemsOf(view.sessions ?? [], view.pinned, now), [view, today]);
  const place = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => place.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => items[index]?.key ?? index,
    overscan: 10,
    paddingEnd: 8,
  });
  const drawn = list.getVirtualItems();
  const last = drawn.at(-1)?.index ?? 0;
  useEffect(() => {
    if (view.hasMore && last > items.length - nearEnd) void store.loadMore();
  }, [store, view.hasMore, last, items.length]);

  /** Up and down go through the list, past what is drawn too. */
  function move(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const target = event.target;
    if (step === undefined || !(target instanceof HTMLAnchorElement)) return;
    event.preventDefault();
    const from = Number(target.closest("[data-index]")?.getAttribute("data-index"));
    let to = from + step;
    while (items[to]?.kind === "heading") to += step;
    if (items[to] === undefined) return;
    list.scrollToIndex(to);
    requestAnimationFrame(() =>
      place.current?.querySelector<HTMLElement>(`[data-index="${to}"] a`)?.focus(),
    );
  }

  if (view.sessions === null) return <p className="list-words late">{words.sessions.reading}</p>;
  if (items.length === 0)
    return <p className="list-words">{words.sessions.none[view.filter.shelf]}</p>;
  return (
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div ref={place} className="sessions" onKeyDown={move}>
      <div className="rows" style={{ height: list.getTotalSize() }}>
        {drawn.map(({ key, index, start }) => {
          const item = items[index];
          if (item === undefined) return null;
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

function itemsOf(
  sessions: readonly SessionView[],
  pinned: readonly SessionView[],
  now: number,
): readonly Item[] {
  const items: Item[] = [];
  const add = (text: string, rows: readonly SessionView[]): void => {
    if (rows.length === 0) return;
    items.push({ kind: "heading", key: text, text });
    for (const session of rows) items.push({ kind: "session", key: session.id, session });
  };
  add(words.sessions.pinned, pinned);
  const isPinned = new Set(pinned.map(({ id }) => id));
  const groups = Map.groupBy(
    sessions.filter(({ id }) => !isPinned.has(id)),
    ({ sortAt }) => ageOf(daysBetween(sortAt, now)),
  );
  for (const age of ["today", "yesterday", "week", "older"] as const)
    add(words.sessions[age], groups.get(age) ?? []);
  return items;
}

function ageOf(days: number): "today" | "yesterday" | "week" | "older" {
  if (days < 1) return "today";
  if (days < 2) return "yesterday";
  return days < 7 ? "week" : "older";
}
