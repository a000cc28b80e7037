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

import { firstInPlace } from "./entry-ranges.ts";
import { type Island, islandAround, landIsland, loadBelow } from "./island.ts";
import { letGo, type Sight } from "./stretch.ts";

/** What the page knows of one conversation: what the reducer says, and which stretch of it is looked at. */
export interface ConversationView {
  readonly state: SessionState | null;
  /** A stretch further up that a link led to, until it has grown down to what the state holds. */
  readonly island: Island | null;
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
  readonly reach: (seq: Seq) => Promise<void>;
  readonly returnToTail: () => void;
  /** What is in sight: what is far from it is let go of, and read again when somebody comes near. */
  readonly look: (sight: Sight) => void;
  /** The number after which all that is known of a run lies. */
  readonly beforeRun: (run: RunId) => Seq;
  readonly start: () => () => void;
}

const nothing: ConversationView = {
  state: null,
  island: null,
  connection: "connecting",
  ended: null,
  status: null,
  loading: null,
};
const pageSize = 100;
const beginning = 0 as Seq;

export function createConversationStore(client: Client, id: SessionId): ConversationStore {
  let view = nothing;
  const listeners = new Set<() => void>();
  const frame = createFrame(() => listeners.forEach((listener) => listener()));

  function change(part: Partial<ConversationView>): void {
    view = { ...view, ...part };
    frame.ask();
  }

  function take(item: OpenItem): void {
    if (item.kind === "ended") change({ ended: item.error });
    else if (item.kind === "status") change({ status: isOver(item.status) ? null : item.status });
    else if (item.by === null || view.state === null) change({ state: item.state, island: null });
    else {
      const reshapes = item.by.type === "history.cut" || item.by.type === "history.restored";
      change({ state: reduceEvent(view.state, item.by), ...(reshapes && { island: null }) });
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
    const before = view.island;
    const answer = await ask();
    change({ loading: null });
    if (answer !== null && view.island === before) put(answer);
  }

  async function loadEarlier(): Promise<void> {
    const { state, island } = view;
    const earlier = (island ?? state)?.earlier ?? null;
    if (earlier === null) return;
    const ask = async () => {
      const query = { before: earlier, limit: pageSize };
      const read = await client.readSession({ params: { id }, query });
      return read.ok ? read.value : null;
    };
    await loading("earlier", ask, (page) => {
      if (view.island !== null)
        change({
          island: { entries: [...page.entries, ...view.island.entries], earlier: page.earlier },
        });
      else if (view.state?.earlier === earlier) change({ state: prependEntries(view.state, page) });
    });
  }

  async function loadLater(): Promise<void> {
    const { state, island } = view;
    if (state === null || island === null) return;
    await loading(
      "later",
      () => loadBelow(client, id, island, firstInPlace(state.entries) ?? beginning),
      (grown) => {
        if (view.state === null) return;
        const landed = landIsland(view.state, grown);
        change(landed === null ? { island: grown } : { state: landed, island: null });
      },
    );
  }

  async function reach(seq: Seq): Promise<void> {
    if (view.state === null || holds(view, seq) || seq > view.state.seq) return;
    const island = await islandAround(client, id, seq);
    if (island === null || view.state === null) return;
    const landed = landIsland(view.state, island);
    change(landed === null ? { island } : { state: landed, island: null });
  }

  return {
    read: () => view,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    loadEarlier,
    loadLater,
    reach,
    beforeRun(run) {
      const entries = (view.island ?? view.state)?.entries ?? [];
      const first = entries.find(({ runId }) => runId === run);
      if (first === undefined) return beginning;
      const before = entries.findLast(({ seq }) => seq < first.seq);
      const isFirst = (view.island ?? view.state)?.earlier === null;
      return before?.seq ?? (isFirst ? beginning : ((first.seq - 1) as Seq));
    },
    returnToTail: () => change({ island: null }),
    look(sight) {
      const { state, island, loading: isLoading } = view;
      if (state === null || isLoading !== null) return;
      const held = letGo({ state, island }, sight);
      if (held.state !== state || held.island !== island) change(held);
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

function holds({ state, island }: ConversationView, seq: Seq): boolean {
  return (island ?? state)?.entries.some((entry) => entry.seq === seq) ?? false;
}

function isOver({ code }: StreamStatus): boolean {
  return code === "store_restored" || code === "stored_again";
}

/** However many events come, the page is drawn once a frame; in a hidden tab, now and then. */
function createFrame(draw: () => void): { ask(): void; cancel(): void } {
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
