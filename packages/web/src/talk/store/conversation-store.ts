import {
  type ApiError,
  type Client,
  type ConnectionState,
  type OpenItem,
  prependEntries,
  reduceEvent,
  type SessionState,
} from "@holdfast/client";
import { type RunId, type Seq, type SessionId, type StreamStatus } from "@holdfast/protocol";

import {
  firstOrderedSeq,
  type DetachedRange,
  loadRangeAround,
  joinToTail,
  loadNewer,
  trimEntries,
  type VisibleRange,
} from "./entry-ranges.ts";

/** What the page knows of one conversation: what the reducer says, and which stretch of it is looked at. */
export interface ConversationView {
  readonly state: SessionState | null;
  /** A stretch further up that a link led to, until it has grown down to what the state holds. */
  readonly detached: DetachedRange | null;
  readonly connection: ConnectionState | "connecting";
  readonly ended: ApiError | null;
  readonly status: StreamStatus | null;
  readonly loading: "earlier" | "later" | null;
}

export interface ConversationStore {
  readonly read: () => ConversationView;
  readonly subscribe: (listener: () => void) => () => void;
  readonly loadEarlier: () => Promise<void>;
  readonly loadLater: () => Promise<void>;
  /** Makes sure that the entry with this number is held, if it is in view at all. */
  readonly loadAround: (seq: Seq) => Promise<void>;
  readonly returnToTail: () => void;
  /** What is in sight: what is far from it is let go of, and read again when somebody comes near. */
  readonly trimTo: (sight: VisibleRange) => void;
  /** The number after which all that is known of a run lies. */
  readonly beforeRun: (run: RunId) => Seq;
  readonly start: () => () => void;
}

const emptyView: ConversationView = {
  state: null,
  detached: null,
  connection: "connecting",
  ended: null,
  status: null,
  loading: null,
};
const pageSize = 100;
const beginning = 0 as Seq;

export function createConversationStore(client: Client, id: SessionId): ConversationStore {
  let view = emptyView;
  const listeners = new Set<() => void>();
  const frame = createFrameScheduler(() => listeners.forEach((listener) => listener()));

  function change(part: Partial<ConversationView>): void {
    view = { ...view, ...part };
    frame.ask();
  }

  function take(item: OpenItem): void {
    if (item.kind === "ended") change({ ended: item.error });
    else if (item.kind === "status")
      change({ status: isResolvedStatus(item.status) ? null : item.status });
    else if (item.by === null || view.state === null) change({ state: item.state, detached: null });
    else {
      const reshapes = item.by.type === "history.cut" || item.by.type === "history.restored";
      change({ state: reduceEvent(view.state, item.by), ...(reshapes && { detached: null }) });
    }
  }

  async function follow(signal: AbortSignal): Promise<void> {
    const onConnection = (connection: ConnectionState): void => change({ connection });
    for await (const item of client.open(id, { signal, onConnection })) {
      if (signal.aborted) return;
      take(item);
    }
  }

  /** One page at a time; what was asked for under another state of the view is not put into this one. */
  async function loading<T>(
    what: "earlier" | "later",
    ask: () => Promise<T | null>,
    put: (answer: T) => void,
  ): Promise<void> {
    if (view.loading !== null) return;
    change({ loading: what });
    const before = view.detached;
    const answer = await ask();
    change({ loading: null });
    if (answer !== null && view.detached === before) put(answer);
  }

  async function loadEarlier(): Promise<void> {
    const { state, detached: island } = view;
    const earlier = (island ?? state)?.earlier ?? null;
    if (earlier === null) return;
    const ask = async () => {
      const query = { before: earlier, limit: pageSize };
      const read = await client.readSession({ params: { id }, query });
      return read.ok ? read.value : null;
    };
    await loading("earlier", ask, (page) => {
      if (view.detached !== null)
        change({
          detached: { entries: [...page.entries, ...view.detached.entries], earlier: page.earlier },
        });
      else if (view.state?.earlier === earlier) change({ state: prependEntries(view.state, page) });
    });
  }

  async function loadLater(): Promise<void> {
    const { state, detached: island } = view;
    if (state === null || island === null) return;
    await loading(
      "later",
      () => loadNewer(client, id, island, firstOrderedSeq(state.entries) ?? beginning),
      (grown) => {
        if (view.state === null) return;
        const landed = joinToTail(view.state, grown);
        change(landed === null ? { detached: grown } : { state: landed, detached: null });
      },
    );
  }

  async function reach(seq: Seq): Promise<void> {
    if (view.state === null || hasEntry(view, seq) || seq > view.state.seq) return;
    const island = await loadRangeAround(client, id, seq);
    if (island === null || view.state === null) return;
    const landed = joinToTail(view.state, island);
    change(landed === null ? { detached: island } : { state: landed, detached: null });
  }

  return {
    read: () => view,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    loadEarlier,
    loadLater,
    loadAround: reach,
    beforeRun(run) {
      const entries = (view.detached ?? view.state)?.entries ?? [];
      const first = entries.find(({ runId }) => runId === run);
      if (first === undefined) return beginning;
      const before = entries.findLast(({ seq }) => seq < first.seq);
      const isFirst = (view.detached ?? view.state)?.earlier === null;
      return before?.seq ?? (isFirst ? beginning : ((first.seq - 1) as Seq));
    },
    returnToTail: () => change({ detached: null }),
    trimTo(sight) {
      const { state, detached: island, loading: isLoading } = view;
      if (state === null || isLoading !== null) return;
      const held = trimEntries({ state, detached: island }, sight);
      if (held.state !== state || held.detached !== island) change(held);
    },
    start() {
      const leaving = new AbortController();
      void follow(leaving.signal);
      return () => {
        leaving.abort();
        frame.cancel();
      };
    },
  };
}

function hasEntry({ state, detached: island }: ConversationView, seq: Seq): boolean {
  return (island ?? state)?.entries.some((entry) => entry.seq === seq) ?? false;
}

function isResolvedStatus({ code }: StreamStatus): boolean {
  return code === "store_restored" || code === "stored_again";
}

/** However many events come, the page is drawn once a frame; in a hidden tab, now and then. */
function createFrameScheduler(draw: () => void): { ask(): void; cancel(): void } {
  let asked: (() => void) | null = null;
  const run = (): void => {
    asked = null;
    draw();
  };
  return {
    ask() {
      if (asked !== null) return;
      if (document.visibilityState === "hidden") {
        const timer = setTimeout(run, 200);
        asked = () => clearTimeout(timer);
      } else {
        const request = requestAnimationFrame(run);
        asked = () => cancelAnimationFrame(request);
      }
    },
    cancel() {
      asked?.();
      asked = null;
    },
  };
}
