import {
  createSseDecoder,
  decodeSseFrame,
  encodeSseComment,
  encodeCursors,
  encodeSseFrame,
  type Seq,
  type SessionId,
  type SseItem,
  maxWatchedSessions,
} from "@holdfast/protocol";
import { type Fetch } from "@holdfast/client";
import type { LeaderMessage, RoutedFrame, TabMessage, StreamRequest } from "./messages.ts";

/** A stream further behind than this would delay the streams that are already caught up. */
const maxEventsBehind = 1_000;

interface LedStream {
  readonly tab: string;
  readonly request: StreamRequest;
}

interface Connection {
  readonly abort: () => void;
  /** The last event received of each session. */
  readonly positions: Map<SessionId, Seq>;
}

export interface LeaderDeps {
  readonly name: string;
  readonly fetch: Fetch;
  readonly broadcast: (message: LeaderMessage) => void;
  /** The tabs that are still open. A closed tab cannot announce that it left. */
  readonly openTabs: () => Promise<ReadonlySet<string>>;
  /** The endpoint that streams session events and list hints. */
  readonly eventsUrl: string;
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
export function createLeader({
  name,
  fetch: fetchStream,
  broadcast,
  openTabs,
  eventsUrl,
}: LeaderDeps): Leader {
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
  function carries({ cursors }: StreamRequest): boolean {
    if (isOpening) return false;
    return [...cursors].every(([id, after]) => {
      const position = connection?.positions.get(id);
      return position !== undefined && position <= after;
    });
  }

  function addStream(id: string, tab: string, request: StreamRequest): void {
    streams.set(id, { tab, request });
    served.delete(id);
    if (isTooFarBehind(request)) {
      forget([id]);
      notify("alone", [id]);
    } else if (connection !== null && carries(request)) {
      served.add(id);
      notify("opened", [id]);
    } else void reconnect();
  }

  function isTooFarBehind({ cursors }: StreamRequest): boolean {
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
    const response = await Promise.resolve(
      fetchStream(`${eventsUrl}?${new URLSearchParams({ watch: encodeCursors(positions) })}`, {
        headers: { accept: "text/event-stream" },
        signal,
      }),
    ).catch(() => null);
    // All streams may have left in the meantime.
    if (stopping.signal.aborted || streams.size === 0) return next.abort();
    if (response === null) return release("lost", unserved);
    // The host's refusal may concern only one of them: each tab asks by itself and gets its own answer.
    if (!response.ok || response.body === null) {
      next.abort();
      return release("alone", unserved);
    }
    connection?.abort();
    connection = next;
    const opened = streamIds.filter((id) => streams.has(id));
    for (const id of opened) served.add(id);
    notify("opened", opened);
    void read(next, response.body);
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
    for (const [streamId, { request }] of streams)
      for (const [id, after] of request.cursors)
        include(id, unserved.includes(streamId) ? after : (connection?.positions.get(id) ?? after));
    return cursors;
  }

  async function read(source: Connection, body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = createSseDecoder();
    const reader = body.getReader();
    for (;;) {
      const chunk = await reader.read().catch(() => null);
      if (connection !== source) break;
      if (chunk === null || chunk.done) return loseConnection();
      const frames = decoder.push(chunk.value).flatMap(routedFramesOf);
      for (const { to, seq } of frames)
        if (seq !== null && to !== "list" && to !== "all") source.positions.set(to, seq);
      if (frames.length > 0) broadcast({ by: name, kind: "said", pieces: frames });
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

/** Drops frames that this version does not know, and `retry`: each tab has its own backoff. */
function routedFramesOf(item: SseItem): readonly RoutedFrame[] {
  if (item.kind === "comment") return [{ to: "all", seq: null, text: encodeSseComment(item.text) }];
  if (item.kind === "retry") return [];
  const decoded = decodeSseFrame(item.frame);
  const text = encodeSseFrame(item.frame);
  switch (decoded?.kind) {
    case "event": {
      const { sessionId, event } = decoded;
      if (sessionId === undefined) return [];
      // The shared stream's id holds the cursors of all sessions; a tab that follows one session needs its seq alone.
      const sessionText = encodeSseFrame({ ...item.frame, id: String(event.seq) });
      return [{ to: sessionId, seq: event.seq, text: sessionText }];
    }
    case "resync": {
      const { sessionId, seq } = decoded.resync;
      return sessionId === undefined ? [] : [{ to: sessionId, seq, rewinds: true, text }];
    }
    case "status":
      return [{ to: decoded.status.sessionId ?? "all", seq: null, text }];
    case "list":
      return [{ to: "list", seq: null, text }];
    case undefined:
      return [];
  }
}
