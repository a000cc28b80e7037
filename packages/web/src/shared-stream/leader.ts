import type { EventStream, OpenStream, StreamBatch } from "@holdfast/client";
import { maxWatchedSessions, type Seq, type SessionId } from "@holdfast/protocol";
import type { LeaderMessage, TabMessage, WantedStream } from "./messages.ts";

/** A stream further behind than this would delay the streams that are already caught up. */
const maxEventsBehind = 1_000;

interface LedStream {
  readonly tab: string;
  readonly wanted: WantedStream;
}

interface Connection {
  readonly abort: () => void;
  /** The last event received of each session. */
  readonly positions: Map<SessionId, Seq>;
}

export interface LeaderDeps {
  readonly name: string;
  readonly openStream: OpenStream;
  readonly broadcast: (message: LeaderMessage) => void;
  /** The tabs that are still open. A closed tab cannot announce that it left. */
  readonly openTabs: () => Promise<ReadonlySet<string>>;
}

export interface Leader {
  readonly receive: (message: TabMessage) => void;
  readonly stop: () => void;
}

/**
 * Holds the browser's one connection to the host. When a stream needs more than it carries, the leader opens a new
 * connection from each session's current position before it closes the old one: no event is missed, and tabs drop
 * duplicates by sequence number.
 */
export function createLeader({ name, openStream, broadcast, openTabs }: LeaderDeps): Leader {
  const streams = new Map<string, LedStream>();
  /** The streams that the current connection feeds. */
  const served = new Set<string>();
  const stopping = new AbortController();
  let connection: Connection | null = null;
  let isOpening = false;
  let isStale = false;

  const notify = (kind: "opened" | "lost" | "alone", streamIds: readonly string[]): void => {
    if (streamIds.length > 0) broadcast({ by: name, kind, streams: streamIds });
  };

  function forget(streamIds: Iterable<string>): void {
    for (const id of streamIds) {
      streams.delete(id);
      served.delete(id);
    }
  }

  /** Whether the connection will deliver everything after these cursors. One that is about to be replaced does not count. */
  function carries({ cursors }: WantedStream): boolean {
    if (isOpening) return false;
    return [...cursors].every(([id, after]) => {
      const position = connection?.positions.get(id);
      return position !== undefined && position <= after;
    });
  }

  function addStream(id: string, tab: string, wanted: WantedStream): void {
    streams.set(id, { tab, wanted });
    served.delete(id);
    if (isTooFarBehind(wanted)) {
      forget([id]);
      notify("alone", [id]);
    } else if (connection !== null && carries(wanted)) {
      served.add(id);
      notify("opened", [id]);
    } else void reconnect();
  }

  function isTooFarBehind({ cursors }: WantedStream): boolean {
    return [...cursors].some(([id, after]) => {
      const position = connection?.positions.get(id);
      return position !== undefined && after < position - maxEventsBehind;
    });
  }

  async function reconnect(): Promise<void> {
    isStale = true;
    if (isOpening) return;
    isOpening = true;
    while (isStale && !stopping.signal.aborted) {
      isStale = false;
      await reconnectOnce();
    }
    isOpening = false;
  }

  async function reconnectOnce(): Promise<void> {
    const open = await openTabs();
    forget([...streams].filter(([, { tab }]) => !open.has(tab)).map(([id]) => id));
    const streamIds = [...streams.keys()];
    const unserved = streamIds.filter((id) => !served.has(id));
    if (unserved.length === 0) return;
    const positions = startCursors(unserved);
    if (positions.size > maxWatchedSessions) return release("alone", unserved);
    const closing = new AbortController();
    const signal = AbortSignal.any([stopping.signal, closing.signal]);
    const next: Connection = { abort: () => closing.abort(), positions };
    const opened = await openStream({ kind: "watch", cursors: new Map(positions) }, signal);
    // All streams may have left in the meantime.
    if (stopping.signal.aborted || streams.size === 0) return next.abort();
    if (!opened.ok) {
      next.abort();
      // The host's refusal may concern only one of them: each tab asks by itself and gets its own answer.
      return release(opened.error.kind === "network" ? "lost" : "alone", unserved);
    }
    connection?.abort();
    connection = next;
    const fed = streamIds.filter((id) => streams.has(id));
    for (const id of fed) served.add(id);
    notify("opened", fed);
    void read(next, opened.value);
  }

  function release(reason: "lost" | "alone", streamIds: readonly string[]): void {
    forget(streamIds);
    notify(reason, streamIds);
  }

  /** Where the host has to start so that every stream gets what it lacks. */
  function startCursors(unserved: readonly string[]): Map<SessionId, Seq> {
    const cursors = new Map<SessionId, Seq>();
    const include = (id: SessionId, after: Seq): void => {
      const known = cursors.get(id);
      if (known === undefined || after < known) cursors.set(id, after);
    };
    for (const [streamId, { wanted }] of streams)
      for (const [id, after] of wanted.cursors)
        include(id, unserved.includes(streamId) ? after : (connection?.positions.get(id) ?? after));
    return cursors;
  }

  async function read(source: Connection, stream: EventStream): Promise<void> {
    const reader = stream.getReader();
    for (;;) {
      const batch = await reader.read().catch(() => null);
      if (connection !== source) break;
      if (batch === null || batch.done) return loseConnection();
      movePositions(source.positions, batch.value);
      broadcast({ by: name, kind: "items", items: batch.value });
    }
    void reader.cancel().catch(() => undefined);
  }

  function loseConnection(): void {
    connection = null;
    release("lost", [...served]);
  }

  function removeStream(id: string): void {
    forget([id]);
    if (streams.size > 0) return;
    connection?.abort();
    connection = null;
  }

  return {
    receive(message) {
      if (stopping.signal.aborted) return;
      broadcast({ by: name, kind: "here" });
      if (message.kind === "want") addStream(message.stream, message.tab, message.wanted);
      if (message.kind === "leave") removeStream(message.stream);
    },
    stop() {
      stopping.abort();
      connection?.abort();
      connection = null;
    },
  };
}

function movePositions(positions: Map<SessionId, Seq>, batch: StreamBatch): void {
  for (const item of batch) {
    if (item.kind === "event" && item.sessionId !== undefined)
      positions.set(item.sessionId, item.event.seq);
    if (item.kind === "resync" && item.resync.sessionId !== undefined)
      positions.set(item.resync.sessionId, item.resync.seq);
  }
}
