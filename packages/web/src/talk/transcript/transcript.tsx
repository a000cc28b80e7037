import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import type { EntryView, Seq } from "@holdfast/protocol";
import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import type { ConversationStore, ConversationView } from "../store/conversation-store.ts";
import { type Pending, type Row, rowsOf, seqOf, withLive, withPending } from "./rows.ts";
import { RowView } from "./row-view.tsx";
import { useHighlights } from "../find/use-highlights.ts";
import { keepScrollPosition } from "../store/scroll-positions.ts";
import type { EndFollower } from "./end-follower.ts";
import type { UnsentStore } from "../store/unsent-messages.ts";

interface TranscriptProps {
  readonly end: EndFollower;
  readonly view: ConversationView;
  readonly store: ConversationStore;
  readonly pending: readonly Pending[];
  readonly unsent: UnsentStore;
  /** The entry to scroll to: the one that a link leads to, or the place that somebody comes back to. */
  readonly at: Seq | null;
  /** Whether that entry is marked. */
  readonly isMarked: boolean;
  /** Texts to mark wherever they occur. */
  readonly marked: readonly string[];
}

/** This close to either end of the loaded rows, more are loaded. */
const edgeRows = 8;
/** This close to the end, the transcript follows new messages. */
const endThresholdPixels = 80;

type List = Virtualizer<HTMLDivElement, HTMLDivElement>;

export function Transcript({
  end,
  view,
  store,
  pending,
  unsent,
  at,
  isMarked,
  marked,
}: TranscriptProps) {
  const { state, detached } = view;
  const entries = (detached ?? state)?.entries;
  const alternatives = state?.session.alternatives;
  const settled = useMemo(() => rowsOf(entries ?? [], alternatives), [entries, alternatives]);
  const live = detached === null ? (state?.live ?? null) : null;
  const rows = useMemo(
    () => withPending(withLive(settled, live), detached === null ? pending : []),
    [settled, live, pending, detached],
  );
  const scrollBox = useRef<HTMLDivElement>(null);
  const list = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: rows.length,
    getScrollElement: () => scrollBox.current,
    estimateSize: () => 140,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 6,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: endThresholdPixels,
    paddingStart: 24,
    paddingEnd: 24,
  });
  const target = useScrollToEntry(list, rows, view, store, {
    at,
    align: isMarked ? "center" : "start",
    end,
  });
  const linked = isMarked ? target : null;
  useHighlights(scrollBox, marked);
  useKeepPosition(scrollBox, list, rows, view);
  useLoadAndTrim(list, rows, view, store);
  useStickToEnd(scrollBox, list, end);
  usePruneSizes(list, rows);
  const isAway = useIsAwayFromEnd(scrollBox, list) || detached !== null;
  useEffect(
    () =>
      end.onShow(() => {
        store.returnToTail();
        // The position of the end is known only once the rows are rendered.
        requestAnimationFrame(() => list.scrollToEnd());
      }),
    [end, store, list],
  );

  return (
    <div className="transcript">
      <div
        ref={scrollBox}
        className="entries"
        role="log"
        aria-label={strings.talk.label}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        <LoadingEdge view={view} />
        <div className="virtual-rows" style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            return (
              <div
                key={item.key}
                ref={list.measureElement}
                data-index={item.index}
                className={`virtual-row${linked === seqOf(row) && linked !== null ? " linked" : ""}`}
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
          onClick={end.showNewest}
        >
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

function LoadingEdge({ view: { loading } }: { view: ConversationView }) {
  return loading === "earlier" ? <p className="loading-edge">{strings.talk.earlier}</p> : null;
}

interface ScrollTarget {
  readonly at: Seq | null;
  readonly align: "center" | "start";
  readonly end: EndFollower;
}

/** Scrolls to the entry, once, and returns the number of the row that has it. */
function useScrollToEntry(
  list: List,
  rows: readonly Row[],
  { state, detached }: ConversationView,
  store: ConversationStore,
  { at, align, end }: ScrollTarget,
): Seq | null {
  const scrolledTo = useRef<Seq | null>(null);
  const isLoaded = state !== null;
  useEffect(() => {
    if (isLoaded && at !== null) void store.loadAround(at);
  }, [store, at, isLoaded]);
  const entries = (detached ?? state)?.entries;
  const index = useMemo(() => indexOfEntry(rows, entries ?? [], at), [rows, entries, at]);
  useEffect(() => {
    if (index === -1 || at === null || scrolledTo.current === at) return;
    end.release();
    list.scrollToIndex(index, { align });
    scrolledTo.current = at;
  }, [list, index, at, align, end]);
  const row = rows[index];
  return row === undefined ? null : seqOf(row);
}

/** The row with the entry: the result of a tool is in the row of its call, which is above it. */
function indexOfEntry(rows: readonly Row[], entries: readonly EntryView[], at: Seq | null): number {
  if (at === null || !entries.some(({ seq }) => seq === at)) return -1;
  const exact = rows.findIndex((row) => seqOf(row) === at);
  return exact === -1 ? rows.findLastIndex((row) => (seqOf(row) ?? at + 1) < at) : exact;
}

/** Keeps the topmost visible entry, unless the end is in view. */
function useKeepPosition(
  scrollBox: RefObject<HTMLDivElement | null>,
  list: List,
  rows: readonly Row[],
  { state }: ConversationView,
): void {
  const latestRows = useRef(rows);
  useEffect(() => {
    latestRows.current = rows;
  }, [rows]);
  const id = state?.session.id;
  useEffect(() => {
    const box = scrollBox.current;
    if (box === null || id === undefined) return;
    const onScroll = (): void => {
      const isAtEnd = list.getDistanceFromEnd() <= endThresholdPixels;
      const top = list.getVirtualItems().find((item) => item.end > box.scrollTop);
      const row = top && latestRows.current[top.index];
      keepScrollPosition(id, isAtEnd || row === undefined ? null : seqOf(row));
    };
    box.addEventListener("scroll", onScroll, { passive: true });
    return () => box.removeEventListener("scroll", onScroll);
  }, [scrollBox, list, id]);
}

/** Loads more rows near either end of the loaded ones, and drops those far away. */
function useLoadAndTrim(
  list: List,
  rows: readonly Row[],
  view: ConversationView,
  store: ConversationStore,
): void {
  const items = list.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  const { detached, state, loading } = view;
  const earlier = (detached ?? state)?.earlier ?? null;
  useEffect(() => {
    if (loading !== null) return;
    if (earlier !== null && first < edgeRows) void store.loadEarlier();
    else if (detached !== null && last > rows.length - edgeRows) void store.loadLater();
    else {
      const seqs = rows.slice(first, last + 1).flatMap((row) => seqOf(row) ?? []);
      const [top, bottom] = [seqs[0], seqs.at(-1)];
      if (top !== undefined && bottom !== undefined) store.trimTo({ first: top, last: bottom });
    }
  }, [store, rows, first, last, earlier, detached, loading]);
}

/** The virtualizer keeps the height of every row it ever measured; this drops those of rows that are gone. */
function usePruneSizes({ itemSizeCache: sizes }: List, rows: readonly Row[]): void {
  useEffect(() => {
    if (sizes.size <= 2 * rows.length) return;
    const keys = new Set<unknown>(rows.map(({ key }) => key));
    for (const key of sizes.keys()) if (!keys.has(key)) sizes.delete(key);
  }, [sizes, rows]);
}

/** Keeps the end in view when the height changes: a queue grows, an on-screen keyboard opens, an answer arrives. */
function useStickToEnd(
  scrollBox: RefObject<HTMLDivElement | null>,
  list: List,
  end: EndFollower,
): void {
  useEffect(() => {
    const box = scrollBox.current;
    const content = box?.querySelector(".virtual-rows");
    if (box === null || !content) return;
    const isNearEnd = (): boolean => list.getDistanceFromEnd() <= endThresholdPixels;
    let lastTop = box.scrollTop;
    const onScroll = (): void => {
      // Only a reader scrolls up; added rows merely push the end further down.
      if (isNearEnd()) end.follow();
      else if (box.scrollTop < lastTop) end.release();
      lastTop = box.scrollTop;
    };
    const resizeObserver = new ResizeObserver((changes) => {
      const isBoxResized = changes.some(({ target }) => target === box);
      // Near the end the list follows by itself, and a reader must still be able to scroll up.
      if (end.isFollowing() && (isBoxResized || !isNearEnd())) list.scrollToEnd();
    });
    box.addEventListener("scroll", onScroll, { passive: true });
    resizeObserver.observe(box);
    resizeObserver.observe(content);
    return () => {
      box.removeEventListener("scroll", onScroll);
      resizeObserver.disconnect();
    };
  }, [scrollBox, list, end]);
}

function useIsAwayFromEnd(scrollBox: RefObject<HTMLDivElement | null>, list: List): boolean {
  const [isAway, setIsAway] = useState(false);
  useEffect(() => {
    const element = scrollBox.current;
    if (element === null) return;
    const onScroll = (): void => setIsAway(list.getDistanceFromEnd() > element.clientHeight / 2);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => element.removeEventListener("scroll", onScroll);
  }, [scrollBox, list]);
  return isAway;
}
