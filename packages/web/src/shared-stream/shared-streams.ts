import {
  createStreamOpener,
  createTransport,
  type Fetch,
  type OpenStream,
  type StreamRequest,
} from "@holdfast/client";
import { createLeader, type Leader } from "./leader.ts";
import { createTabStream, type TabStream } from "./tab-stream.ts";
import {
  channelMessage,
  isLeaderMessage,
  type LeaderMessage,
  sharedNames,
  type TabMessage,
  type ChannelMessage,
  type WantedStream,
} from "./messages.ts";

export interface SharedStreamsDeps {
  /** Opens a stream on its own connection. */
  readonly openDirectly: OpenStream;
  /** With a trailing slash. */
  readonly baseUrl: string;
  readonly locks: Pick<LockManager, "request" | "query">;
  readonly channel: BroadcastChannel;
  readonly newId: () => string;
  /** A leader that has not replied for this long counts as suspended. */
  readonly leaderTimeoutMs?: number;
}

export interface SharedStreams {
  readonly open: OpenStream;
  /** Takes over if the leader does not reply. */
  readonly checkLeader: () => void;
  readonly close: () => void;
}

/** Opens the page's event streams: on one connection for all tabs if the browser has locks, else on one each. */
export function openSharedStreams(baseUrl: string, send: Fetch): OpenStream {
  const openDirectly = createStreamOpener(createTransport({ baseUrl, fetch: send }));
  // Over plain HTTP from another machine there are no locks.
  if (!("locks" in navigator)) return openDirectly;
  const shared = createSharedStreams({
    openDirectly,
    baseUrl,
    locks: navigator.locks,
    channel: new BroadcastChannel(sharedNames(baseUrl).channel),
    newId: () => crypto.randomUUID(),
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") shared.checkLeader();
  });
  return shared.open;
}

/**
 * Carries the event streams of all tabs over one connection. Over HTTP/1.1 a browser opens six connections to a host, and
 * every stream occupies one. One tab is the leader: it owns the connection, decodes each frame and passes the decoded
 * items to the others; when it closes, another takes over. P5: a shared stream delivers what the host would have sent,
 * every event after its cursor, once and in order.
 */
export function createSharedStreams(deps: SharedStreamsDeps): SharedStreams {
  const { openDirectly, baseUrl, locks, channel, newId, leaderTimeoutMs = 3_000 } = deps;
  const { leaderLock, tabLockPrefix } = sharedNames(baseUrl);
  const tab = newId();
  const streams = new Map<string, TabStream>();
  const closing = new AbortController();
  let leader: Leader | null = null;
  let leaderTimer: ReturnType<typeof setTimeout> | null = null;

  const post = (message: ChannelMessage): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no target
    if (!closing.signal.aborted) channel.postMessage(message);
  };

  function sendToLeader(message: TabMessage): void {
    if (leader !== null) return leader.receive(message);
    post(message);
    leaderTimer ??= setTimeout(takeOver, leaderTimeoutMs);
  }

  function clearLeaderTimer(): void {
    if (leaderTimer !== null) clearTimeout(leaderTimer);
    leaderTimer = null;
  }

  function requestStream(id: string, { cursors, list }: TabStream): void {
    // Copied: the stream's own cursors go on moving.
    sendToLeader({ kind: "want", tab, stream: id, wanted: { cursors: new Map(cursors), list } });
  }

  function drop(id: string, end: (stream: TabStream) => void): void {
    const stream = streams.get(id);
    streams.delete(id);
    if (stream !== undefined) end(stream);
  }

  function handleLeaderMessage(message: LeaderMessage): void {
    clearLeaderTimer();
    switch (message.kind) {
      case "here":
        return;
      case "lead":
        return streams.forEach((stream, id) => renew(id, stream));
      case "items":
        return streams.forEach((stream) => stream.receive(message.by, message.items));
      case "opened":
        return message.streams.forEach((id) => streams.get(id)?.open(message.by));
      case "lost":
        return message.streams.forEach((id) => drop(id, (stream) => stream.fail(connectionLost)));
      case "alone":
        return message.streams.forEach((id) => drop(id, (stream) => stream.goDirect()));
    }
  }

  /** Continues from the cursors. List hints have no number, so a list stream fails instead and its reader refreshes. */
  function renew(id: string, stream: TabStream): void {
    if (stream.list && stream.isOpen()) return drop(id, () => stream.fail(connectionLost));
    stream.detachLeader();
    requestStream(id, stream);
  }

  /** Leads until the tab closes or another one takes over. */
  async function lead(): Promise<void> {
    if (closing.signal.aborted) return;
    clearLeaderTimer();
    const name = newId();
    const broadcast = (message: LeaderMessage): void => {
      post(message);
      handleLeaderMessage(message);
    };
    leader = createLeader({ name, openStream: openDirectly, broadcast, openTabs });
    broadcast({ by: name, kind: "lead" });
    await untilAborted(closing.signal);
    stopLeading();
  }

  function stopLeading(): void {
    leader?.stop();
    leader = null;
  }

  function waitToLead(): void {
    void locks.request(leaderLock, { signal: closing.signal }, lead).catch(() => {
      // Another tab stole the lock because this one did not reply in time.
      stopLeading();
      if (!closing.signal.aborted) waitToLead();
    });
  }

  function takeOver(): void {
    leaderTimer = null;
    void locks.request(leaderLock, { steal: true }, lead).catch(stopLeading);
  }

  async function openTabs(): Promise<ReadonlySet<string>> {
    const { held = [] } = await locks.query();
    const tabLocks = held.filter(({ name = "" }) => name.startsWith(tabLockPrefix));
    return new Set(tabLocks.map(({ name = "" }) => name.slice(tabLockPrefix.length)));
  }

  channel.addEventListener("message", (event: MessageEvent<unknown>) => {
    const { data: message } = channelMessage.safeParse(event.data);
    if (message === undefined) return;
    if (isLeaderMessage(message)) handleLeaderMessage(message);
    else leader?.receive(message);
  });
  // The tab holds this lock while it is open: by the held locks the leader sees which tabs are gone.
  const { promise: tabLocked, resolve: onTabLocked } = Promise.withResolvers<void>();
  const holdTabLock = (): Promise<void> => {
    onTabLocked();
    return untilAborted(closing.signal);
  };
  void locks
    .request(`${tabLockPrefix}${tab}`, { signal: closing.signal }, holdTabLock)
    .catch(() => undefined);
  waitToLead();

  return {
    open(request, signal) {
      if (signal.aborted) return openDirectly(request, signal);
      const id = newId();
      const onLeave = (): void => {
        if (streams.delete(id)) sendToLeader({ kind: "leave", stream: id });
      };
      const stream = createTabStream({
        wanted: wantedBy(request),
        openDirectly: () => openDirectly(request, signal),
        onLeave,
      });
      streams.set(id, stream);
      const abort = (): void => {
        onLeave();
        stream.fail("The stream was aborted.");
      };
      signal.addEventListener("abort", abort, { once: true });
      void tabLocked.then(() => (streams.has(id) ? requestStream(id, stream) : undefined));
      return stream.opened;
    },
    checkLeader: () => sendToLeader({ kind: "ask" }),
    close() {
      closing.abort();
      clearLeaderTimer();
    },
  };
}

function wantedBy(request: StreamRequest): WantedStream {
  if (request.kind === "watch") return { cursors: request.cursors, list: true };
  return { cursors: new Map([[request.id, request.after]]), list: false };
}

const connectionLost = "The connection was lost.";

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
