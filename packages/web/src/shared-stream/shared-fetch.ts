import type { Fetch } from "@holdfast/client";
import { createLeader, type Leader } from "./leader.ts";
import { createTabStream, type TabStream } from "./tab-stream.ts";
import {
  parseStreamRequest,
  isLeaderMessage,
  type LeaderMessage,
  type TabMessage,
  type ChannelMessage,
} from "./messages.ts";

export interface SharedFetchDeps {
  readonly fetch: Fetch;
  /** Where the host is, with the slash. */
  readonly base: string;
  readonly locks: Pick<LockManager, "request" | "query">;
  readonly channel: BroadcastChannel;
  readonly newName: () => string;
  /** So long after a word to whoever leads the tab believes that they sleep. */
  readonly leaderTimeoutMs?: number;
}

export interface SharedFetch {
  readonly fetch: Fetch;
  /** Makes sure that somebody leads who is awake. */
  readonly checkLeader: () => void;
  readonly close: () => void;
}

/**
 * `fetch`, with the streams of all tabs of a browser on one connection. A browser gives a host six of them over HTTP/1.1, and
 * a stream keeps the one that it has. One tab leads and holds the connection; when it closes another one does. What a stream
 * says is what the host would have said to it: every event behind its cursor, each once and in order (P5).
 */
export function createSharedFetch(parts: SharedFetchDeps): SharedFetch {
  const { fetch: ask, base, locks, channel, newName, leaderTimeoutMs: patienceMs = 3_000 } = parts;
  const names = { lead: `holdfast:line:${base}`, tab: `holdfast:tab:${base}:` };
  const tab = newName();
  const streams = new Map<string, TabStream>();
  const closing = new AbortController();
  let leader: Leader | null = null;
  let doubt: ReturnType<typeof setTimeout> | null = null;

  const post = (word: ChannelMessage): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no target
    if (!closing.signal.aborted) channel.postMessage(word);
  };

  function sayToLeader(word: TabMessage): void {
    if (leader !== null) return leader.receive(word);
    post(word);
    doubt ??= setTimeout(takeOver, patienceMs);
  }

  function believe(): void {
    if (doubt !== null) clearTimeout(doubt);
    doubt = null;
  }

  function want(name: string, { cursors, list }: TabStream): void {
    // A copy: what is said is how far it has come at this moment.
    sayToLeader({ kind: "want", tab, stream: name, wanted: { cursors: new Map(cursors), list } });
  }

  function drop(name: string, end: (stream: TabStream) => void): void {
    const stream = streams.get(name);
    streams.delete(name);
    if (stream !== undefined) end(stream);
  }

  function hearLeader(word: LeaderMessage): void {
    believe();
    switch (word.kind) {
      case "here":
        return;
      case "lead":
        return streams.forEach((stream, name) => renew(name, stream));
      case "said":
        return streams.forEach((stream) => stream.receive(word.by, word.pieces));
      case "opened":
        return word.streams.forEach((name) => streams.get(name)?.open(word.by));
      case "lost":
        return word.streams.forEach((name) => drop(name, (stream) => stream.fail(connectionLost)));
      case "alone":
        return word.streams.forEach((name) => drop(name, (stream) => stream.goDirect()));
    }
  }

  /** Goes on by its cursors. Of the list nothing has a number: who watches it has to look again. */
  function renew(name: string, stream: TabStream): void {
    if (stream.list && stream.isOpen()) return drop(name, () => stream.fail(connectionLost));
    stream.detachLeader();
    want(name, stream);
  }

  /** Leads until the tab closes or another one takes over. */
  async function serve(): Promise<void> {
    if (closing.signal.aborted) return;
    believe();
    const name = newName();
    const say = (word: LeaderMessage): void => {
      post(word);
      hearLeader(word);
    };
    const address = new URL("api/events", base).href;
    leader = createLeader({ name, fetch: ask, broadcast: say, address, openTabs: tabs });
    say({ by: name, kind: "lead" });
    await untilAborted(closing.signal);
    rest();
  }

  function rest(): void {
    leader?.stop();
    leader = null;
  }

  function waitToLead(): void {
    void locks.request(names.lead, { signal: closing.signal }, serve).catch(() => {
      // Somebody took over, believing that this tab sleeps.
      rest();
      if (!closing.signal.aborted) waitToLead();
    });
  }

  function takeOver(): void {
    doubt = null;
    void locks.request(names.lead, { steal: true }, serve).catch(rest);
  }

  async function tabs(): Promise<ReadonlySet<string>> {
    const { held = [] } = await locks.query();
    const own = held.flatMap(({ name = "" }) => (name.startsWith(names.tab) ? [name] : []));
    return new Set(own.map((name) => name.slice(names.tab.length)));
  }

  channel.addEventListener("message", ({ data }: MessageEvent<ChannelMessage>) => {
    if (isLeaderMessage(data)) hearLeader(data);
    else leader?.receive(data);
  });
  // Held for as long as the tab is there: whoever leads sees by it who is gone.
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
  const stay = (): Promise<void> => {
    enter();
    return untilAborted(closing.signal);
  };
  void locks.request(`${names.tab}${tab}`, { signal: closing.signal }, stay).catch(() => undefined);
  waitToLead();

  return {
    fetch(url, init) {
      const wanted = parseStreamRequest(url, init);
      if (wanted === null || init.signal?.aborted === true) return ask(url, init);
      const name = newName();
      const onLeave = (): void => {
        if (streams.delete(name)) sayToLeader({ kind: "leave", stream: name });
      };
      const stream = createTabStream({
        request: wanted,
        fetchDirectly: () => ask(url, init),
        onLeave,
      });
      streams.set(name, stream);
      const leave = (): void => {
        onLeave();
        stream.fail(new DOMException("The stream was left.", "AbortError"));
      };
      init.signal?.addEventListener("abort", leave, { once: true });
      void entered.then(() => (streams.has(name) ? want(name, stream) : undefined));
      return stream.response;
    },
    checkLeader: () => sayToLeader({ kind: "ask" }),
    close() {
      closing.abort();
      believe();
    },
  };
}

const connectionLost = new TypeError("The connection was lost.");

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** How this page reaches its host: with the other tabs where the browser lets them share, else by itself. */
export function openSharedFetch(base: string): Fetch {
  const alone: Fetch = (url, init) => fetch(url, init);
  // Over plain HTTP from another machine there are no locks.
  if (!("locks" in navigator)) return alone;
  const line = createSharedFetch({
    fetch: alone,
    base,
    locks: navigator.locks,
    // The number goes up when tabs of an older page could not follow what is said.
    channel: new BroadcastChannel(`holdfast:line:1:${base}`),
    newName: () => crypto.randomUUID(),
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") line.checkLeader();
  });
  return line.fetch;
}
