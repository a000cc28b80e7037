import type { SessionId } from "@holdfast/protocol";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useMemo, useRef } from "react";
import { useApp, useStore } from "../app-context.ts";
import { daysBetween } from "../ui/format-time.ts";
import { strings } from "../strings/strings.ts";
import { listItems } from "./list-items.ts";
import { SessionRow } from "./session-row.tsx";

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
