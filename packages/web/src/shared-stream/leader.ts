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

/** Further behind than this, somebody would hold up those who are there already. */
const maxEventsBehind = 1_000;

interface LedStream {
  readonly tab: string;
  readonly wanted: StreamRequest;
}

interface Connection {
  readonly abort: () => void;
  /** How far it has said each session. */
  readonly positions: Map<SessionId, Seq>;
}

export interface LeaderDeps {
  readonly name: string;
  readonly fetch: Fetch;
  readonly broadcast: (word: LeaderMessage) => void;
  /** The tabs that are still open; the others cannot say that they have left. */
  readonly openTabs: () => Promise<ReadonlySet<string>>;
  /** Where the host tells of sessions and of the list. */
  readonly address: string;
}

export interface Leader {
  readonly receive: (word: TabMessage) => void;
  readonly stop: () => void;
}

/**
 * Holds the one connection of a browser. Whoever wants more than it carries makes it be opened anew, from where each session
 * stands, before the old one is let go: nothing is missed, and what comes twice the tabs drop by its number.
 */
export function createLeader({
  name,
  fetch: ask,
  broadcast: say,
  openTabs: tabs,
  address,
}: LeaderDeps): Leader {
  const streams = new Map<string, LedStream>();
  /** Those that get what the connection says. */
  const served = new Set<string>();
  const over = new AbortController();
  let connection: Connection | null = null;
  let isOpening = false;
  let isStale = false;

  const tell = (kind: "opened" | "lost" | "alone", named: readonly string[]): void => {
    if (named.length > 0) say({ by: name, kind, streams: named });
  };

  function forget(named: Iterable<string>): void {
    for (const stream of named) {
      streams.delete(stream);
      served.delete(stream);
    }
  }

  /** Whether the connection has yet to say everything that is wanted, and stays: one that is being opened takes its place. */
  function carries({ cursors }: StreamRequest): boolean {
    if (isOpening) return false;
    return [...cursors].every(([id, after]) => {
      const position = connection?.positions.get(id);
      return position !== undefined && position <= after;
    });
  }

  function want(stream: string, tab: string, wanted: StreamRequest): void {
    streams.set(stream, { tab, wanted });
    served.delete(stream);
    if (isTooFarBehind(wanted)) {
      forget([stream]);
      tell("alone", [stream]);
    } else if (connection !== null && carries(wanted)) {
      served.add(stream);
      tell("opened", [stream]);
    } else void open();
  }

  function isTooFarBehind({ cursors }: StreamRequest): boolean {
    return [...cursors].some(([id, after]) => {
      const position = connection?.positions.get(id);
      return position !== undefined && after < position - maxEventsBehind;
    });
  }

  async function open(): Promise<void> {
    isStale = true;
    if (isOpening) return;
    isOpening = true;
    while (isStale && !over.signal.aborted) {
      isStale = false;
      await openOnce();
    }
    isOpening = false;
  }

  async function openOnce(): Promise<void> {
    const alive = await tabs();
    forget([...streams].filter(([, { tab }]) => !alive.has(tab)).map(([stream]) => stream));
    const named = [...streams.keys()];
    const fresh = named.filter((stream) => !served.has(stream));
    if (fresh.length === 0) return;
    const positions = cursorsOf(fresh);
    if (positions.size > maxWatchedSessions) return sendAway("alone", fresh);
    const leaving = new AbortController();
    const signal = AbortSignal.any([over.signal, leaving.signal]);
    const next: Connection = { abort: () => leaving.abort(), positions };
    const response = await Promise.resolve(
      ask(`${address}?${new URLSearchParams({ watch: encodeCursors(positions) })}`, {
        headers: { accept: "text/event-stream" },
        signal,
      }),
    ).catch(() => null);
    // Everybody may have left meanwhile.
    if (over.signal.aborted || streams.size === 0) return next.abort();
    if (response === null) return sendAway("lost", fresh);
    // What the host has to say to it, it says to each of them by itself.
    if (!response.ok || response.body === null) {
      next.abort();
      return sendAway("alone", fresh);
    }
    connection?.abort();
    connection = next;
    // Who has left meanwhile is not told of it.
    const opened = named.filter((stream) => streams.has(stream));
    for (const stream of opened) served.add(stream);
    tell("opened", opened);
    void read(next, response.body);
  }

  function sendAway(how: "lost" | "alone", named: readonly string[]): void {
    forget(named);
    tell(how, named);
  }

  /** Where the host has to begin so that everybody gets what they lack. */
  function cursorsOf(fresh: readonly string[]): Map<SessionId, Seq> {
    const cursors = new Map<SessionId, Seq>();
    const include = (id: SessionId, after: Seq): void => {
      const known = cursors.get(id);
      if (known === undefined || after < known) cursors.set(id, after);
    };
    for (const [stream, { wanted }] of streams)
      for (const [id, after] of wanted.cursors)
        include(id, fresh.includes(stream) ? after : (connection?.positions.get(id) ?? after));
    return cursors;
  }

  async function read(own: Connection, body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = createSseDecoder();
    const reader = body.getReader();
    for (;;) {
      const piece = await reader.read().catch(() => null);
      if (connection !== own) break;
      if (piece === null || piece.done) return lose();
      const pieces = decoder.push(piece.value).flatMap(routedFramesOf);
      for (const { to, seq } of pieces)
        if (seq !== null && to !== "list" && to !== "all") own.positions.set(to, seq);
      if (pieces.length > 0) say({ by: name, kind: "said", pieces });
    }
    void reader.cancel().catch(() => undefined);
  }

  function lose(): void {
    connection = null;
    sendAway("lost", [...served]);
  }

  function leave(stream: string): void {
    forget([stream]);
    if (streams.size > 0) return;
    connection?.abort();
    connection = null;
  }

  return {
    receive(word) {
      if (over.signal.aborted) return;
      say({ by: name, kind: "here" });
      if (word.kind === "want") want(word.stream, word.tab, word.wanted);
      if (word.kind === "leave") leave(word.stream);
    },
    stop() {
      over.abort();
      connection?.abort();
      connection = null;
    },
  };
}

/** Nothing for what this version does not understand, and for how long to wait: a tab has its own way with that. */
function routedFramesOf(item: SseItem): readonly RoutedFrame[] {
  if (item.kind === "comment") return [{ to: "all", seq: null, text: encodeSseComment(item.text) }];
  if (item.kind === "retry") return [];
  const said = decodeSseFrame(item.frame);
  const text = encodeSseFrame(item.frame);
  switch (said?.kind) {
    case "event": {
      const { sessionId, event } = said;
      if (sessionId === undefined) return [];
      // Its own number: where the other sessions stand is nothing to who follows this one.
      const own = encodeSseFrame({ ...item.frame, id: String(event.seq) });
      return [{ to: sessionId, seq: event.seq, text: own }];
    }
    case "resync": {
      const { sessionId, seq } = said.resync;
      return sessionId === undefined ? [] : [{ to: sessionId, seq, rewinds: true, text }];
    }
    case "status":
      return [{ to: said.status.sessionId ?? "all", seq: null, text }];
    case "list":
      return [{ to: "list", seq: null, text }];
    case undefined:
      return [];
  }
}
