import {
  type ApiError,
  type Client,
  type ConnectionState,
  type OpenItem,
  prependEntries,
  type SessionState,
} from "@holdfast/client";
import {
  type RunId,
  type Seq,
  type SessionId,
  type StoredEvent,
  type StreamStatus,
} from "@holdfast/protocol";
import {
  firstOrderedSeq,
  type DetachedRange,
  loadRangeAround,
  joinToTail,
  loadNewer,
  trimEntries,
  type VisibleRange,
} from "./entry-ranges.ts";

/** One conversation as the page holds it: the reducer's state, and which range of its entries is shown. */
export interface ConversationView {
  readonly state: SessionState | null;
  /** A range further up, loaded for a link, until it has grown down to the entries of the state. */
  readonly detached: DetachedRange | null;
  readonly connection: ConnectionState | "connecting";
  readonly ended: ApiError | null;
  readonly status: StreamStatus | null;
  readonly loading: "earlier" | "later" | null;
  /** When the model is called again, by the clock of this browser, while a run waits for that. */
  readonly retryAt: number | null;
}

export interface ConversationStore {
  readonly read: () => ConversationView;
  readonly subscribe: (listener: () => void) => () => void;
  readonly loadEarlier: () => Promise<void>;
  readonly loadLater: () => Promise<void>;
  /** Loads the entry with this number and its neighbours, unless the conversation does not reach that far. */
  readonly loadAround: (seq: Seq) => Promise<void>;
  readonly returnToTail: () => void;
  /** Drops entries far from the visible ones; they are loaded again when somebody scrolls there. */
  readonly trimTo: (visible: VisibleRange) => void;
  /** A number before the first loaded entry of a run. */
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
  retryAt: null,
};
const pageSize = 100;
const beginning = 0 as Seq;

export function createConversationStore(client: Client, id: SessionId): ConversationStore {
  let view = emptyView;
  const listeners = new Set<() => void>();
  const frame = createFrameScheduler(() => listeners.forEach((listener) => listener()));

  function update(patch: Partial<ConversationView>): void {
    view = { ...view, ...patch };
    frame.request();
  }

  function handleItem(item: OpenItem): void {
    if (item.kind === "ended") update({ ended: item.error });
    else if (item.kind === "status")
      update({ status: isResolvedStatus(item.status) ? null : item.status });
    else
      update({
        state: item.state,
        ...(reshapesHistory(item.by) && { detached: null }),
        ...retryChange(item.by),
      });
  }

  async function follow(signal: AbortSignal): Promise<void> {
    const onConnection = (connection: ConnectionState): void => update({ connection });
    const options = { signal, onConnection, heldState: () => view.state };
    for await (const item of client.open(id, options)) {
      if (signal.aborted) return;
      handleItem(item);
    }
  }

  /** Loads one page at a time, and discards it if the view shows another range by then. */
  async function loadPage<T>(
    direction: "earlier" | "later",
    load: () => Promise<T | null>,
    apply: (page: T) => void,
  ): Promise<void> {
    if (view.loading !== null) return;
    update({ loading: direction });
    const startedOn = view.detached;
    const page = await load();
    update({ loading: null });
    if (page !== null && view.detached === startedOn) apply(page);
  }

  async function loadEarlier(): Promise<void> {
    const { state, detached } = view;
    const earlier = (detached ?? state)?.earlier ?? null;
    if (earlier === null) return;
    const load = async () => {
      const query = { before: earlier, limit: pageSize };
      const read = await client.readSession({ params: { id }, query });
      return read.ok ? read.value : null;
    };
    await loadPage("earlier", load, (page) => {
      if (view.detached !== null)
        update({
          detached: { entries: [...page.entries, ...view.detached.entries], earlier: page.earlier },
        });
      else if (view.state?.earlier === earlier) update({ state: prependEntries(view.state, page) });
    });
  }

  async function loadLater(): Promise<void> {
    const { state, detached } = view;
    if (state === null || detached === null) return;
    await loadPage(
      "later",
      () => loadNewer(client, id, detached, firstOrderedSeq(state.entries) ?? beginning),
      (grown) => {
        if (view.state === null) return;
        const joined = joinToTail(view.state, grown);
        update(joined === null ? { detached: grown } : { state: joined, detached: null });
      },
    );
  }

  async function loadAround(seq: Seq): Promise<void> {
    if (view.state === null || hasEntry(view, seq) || seq > view.state.seq) return;
    const range = await loadRangeAround(client, id, seq);
    if (range === null || view.state === null) return;
    const joined = joinToTail(view.state, range);
    update(joined === null ? { detached: range } : { state: joined, detached: null });
  }

  return {
    read: () => view,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    loadEarlier,
    loadLater,
    loadAround,
    beforeRun(run) {
      const entries = (view.detached ?? view.state)?.entries ?? [];
      const first = entries.find(({ runId }) => runId === run);
      if (first === undefined) return beginning;
      const previous = entries.findLast(({ seq }) => seq < first.seq);
      const isAllLoaded = (view.detached ?? view.state)?.earlier === null;
      return previous?.seq ?? (isAllLoaded ? beginning : ((first.seq - 1) as Seq));
    },
    returnToTail: () => update({ detached: null }),
    trimTo(visible) {
      const { state, detached, loading } = view;
      if (state === null || loading !== null) return;
      const trimmed = trimEntries({ state, detached }, visible);
      if (trimmed.state !== state || trimmed.detached !== detached) update(trimmed);
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

/** A full read (`null`) counts too. */
function reshapesHistory(event: StoredEvent | null): boolean {
  return event === null || event.type === "history.cut" || event.type === "history.restored";
}

/** A run's state says when it tries again; its next step or state says that it no longer waits. */
function retryChange(event: StoredEvent | null): Partial<Pick<ConversationView, "retryAt">> {
  if (event?.type === "step.started") return { retryAt: null };
  if (event?.type !== "run.state") return {};
  const { retryMs } = event.data;
  return { retryAt: typeof retryMs === "number" ? Date.now() + retryMs : null };
}

function hasEntry({ state, detached }: ConversationView, seq: Seq): boolean {
  return (detached ?? state)?.entries.some((entry) => entry.seq === seq) ?? false;
}

function isResolvedStatus({ code }: StreamStatus): boolean {
  return code === "store_restored" || code === "stored_again";
}

/** Renders at most once per animation frame; in a hidden tab, which has none, every 200 ms. */
function createFrameScheduler(render: () => void): { request(): void; cancel(): void } {
  let cancelPending: (() => void) | null = null;
  const run = (): void => {
    cancelPending = null;
    render();
  };
  return {
    request() {
      if (cancelPending !== null) return;
      if (document.visibilityState === "hidden") {
        const timer = setTimeout(run, 200);
        cancelPending = () => clearTimeout(timer);
      } else {
        const request = requestAnimationFrame(run);
        cancelPending = () => cancelAnimationFrame(request);
      }
    },
    cancel() {
      cancelPending?.();
      cancelPending = null;
    },
  };
}
