import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import type { Seq } from "@holdfast/protocol";
import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import type { ConversationStore, ConversationView } from "../store/conversation-store.ts";
import { type Pending, type Row, rowsOf, seqOf, withLive, withPending } from "./rows.ts";
import { RowView } from "./row-view.tsx";
import type { UnsentStore } from "../store/unsent-messages.ts";

interface TranscriptProps {
  readonly view: ConversationView;
  readonly store: ConversationStore;
  readonly pending: readonly Pending[];
  readonly unsent: UnsentStore;
  /** The entry that the address names. */
  readonly at: Seq | null;
}

/** So near to an edge of what is held, more is read. */
const edgeRows = 8;
/** Who is so near to the end reads along. */
const endThresholdPixels = 80;

type List = Virtualizer<HTMLDivElement, HTMLDivElement>;

export function Transcript({ view, store, pending, unsent, at }: TranscriptProps) {
  const { state, detached: island } = view;
  const entries = (island ?? state)?.entries;
  const settled = useMemo(() => rowsOf(entries ?? []), [entries]);
  const live = island === null ? (state?.live ?? null) : null;
  const rows = useMemo(
    () => withPending(withLive(settled, live), island === null ? pending : []),
    [settled, live, pending, island],
  );
  const place = useRef<HTMLDivElement>(null);
  const list = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: rows.length,
    getScrollElement: () => place.current,
    estimateSize: () => 140,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 6,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: endThresholdPixels,
    paddingStart: 24,
    paddingEnd: 24,
  });
  const named = useScrollToEntry(list, rows, view, store, at);
  useLoadAndTrim(list, rows, view, store);
  useStickToEnd(place, list);
  usePruneSizes(list, rows);
  const isAway = useIsAwayFromEnd(place, list) || island !== null;

  return (
    <div className="transcript">
      <div
        ref={place}
        className="entries"
        role="log"
        aria-label={strings.talk.label}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        <LoadingEdge view={view} />
        <div className="rows" style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            return (
              <div
                key={item.key}
                ref={list.measureElement}
                data-index={item.index}
                className={`place${named === seqOf(row) && named !== null ? " named" : ""}`}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <RowView row={row} unsent={unsent} />
              </div>
            );
          })}
        </div>
      </div>
      {isAway && (
        <button
          type="button"
          className="to-newest"
          aria-label={strings.talk.newest}
          title={strings.talk.newest}
          onClick={() => {
            store.returnToTail();
            requestAnimationFrame(() => list.scrollToEnd());
          }}
        >
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

/** Where what is held ends: more is being read, or this is the beginning. */
function LoadingEdge({ view: { loading } }: { view: ConversationView }) {
  return loading === "earlier" ? <p className="edge">{strings.talk.earlier}</p> : null;
}

/** Goes to the entry that the address names, once, and marks it. */
function useScrollToEntry(
  list: List,
  rows: readonly Row[],
  { state }: ConversationView,
  store: ConversationStore,
  at: Seq | null,
): Seq | null {
  const reached = useRef<Seq | null>(null);
  const isRead = state !== null;
  useEffect(() => {
    if (isRead && at !== null) void store.loadAround(at);
  }, [store, at, isRead]);
  const index = at === null ? -1 : rows.findIndex((row) => seqOf(row) === at);
  useEffect(() => {
    if (index === -1 || at === null || reached.current === at) return;
    list.scrollToIndex(index, { align: "center" });
    reached.current = at;
  }, [list, index, at]);
  return at;
}

/** Reads more where somebody comes near to the end of what is held, in either direction; lets go of what is far. */
function useLoadAndTrim(
  list: List,
  rows: readonly Row[],
  view: ConversationView,
  store: ConversationStore,
): void {
  const items = list.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  const { detached: island, state, loading } = view;
  const earlier = (island ?? state)?.earlier ?? null;
  useEffect(() => {
    if (loading !== null) return;
    if (earlier !== null && first < edgeRows) void store.loadEarlier();
    else if (island !== null && last > rows.length - edgeRows) void store.loadLater();
    else {
      const seqs = rows.slice(first, last + 1).flatMap((row) => seqOf(row) ?? []);
      const [top, bottom] = [seqs[0], seqs.at(-1)];
      if (top !== undefined && bottom !== undefined) store.trimTo({ first: top, last: bottom });
    }
  }, [store, rows, first, last, earlier, island, loading]);
}

/** The list remembers how tall every row was that it ever drew; of those that are gone nobody asks again. */
function usePruneSizes({ itemSizeCache: sizes }: List, rows: readonly Row[]): void {
  useEffect(() => {
    if (sizes.size <= 2 * rows.length) return;
    const held = new Set<unknown>(rows.map(({ key }) => key));
    for (const key of sizes.keys()) if (!held.has(key)) sizes.delete(key);
  }, [sizes, rows]);
}

/** Who reads along at the end stays there when the room for it changes: a queue grows, a keyboard opens. */
function useStickToEnd(place: RefObject<HTMLDivElement | null>, list: List): void {
  useEffect(() => {
    const box = place.current;
    if (box === null) return;
    let isAtEnd = true;
    const look = (): void => {
      isAtEnd = list.getDistanceFromEnd() <= endThresholdPixels;
    };
    const resized = new ResizeObserver(() => {
      if (isAtEnd) list.scrollToEnd();
    });
    box.addEventListener("scroll", look, { passive: true });
    resized.observe(box);
    return () => {
      box.removeEventListener("scroll", look);
      resized.disconnect();
    };
  }, [place, list]);
}

/** Whether the end is out of sight. */
function useIsAwayFromEnd(place: RefObject<HTMLDivElement | null>, list: List): boolean {
  const [isAway, setIsAway] = useState(false);
  useEffect(() => {
    const box = place.current;
    if (box === null) return;
    const look = (): void => setIsAway(list.getDistanceFromEnd() > box.clientHeight / 2);
    box.addEventListener("scroll", look, { passive: true });
    return () => box.removeEventListener("scroll", look);
  }, [place, list]);
  return isAway;
}
