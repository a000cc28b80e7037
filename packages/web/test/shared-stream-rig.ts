import { createClient } from "@holdfast/client";
import {
  decodeCursors,
  encodeWatchedSseFrame,
  ids,
  type Seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import { createSharedFetch, type SharedFetch } from "../src/shared-stream/shared-fetch.ts";

export const base = "http://host/";
export const at = (seq: number): Seq => seq as Seq;

/** A host with logs that grow, and streams as it serves them: from a cursor on, in order, until they are cut. */
export function createEventHost() {
  const logs = new Map<SessionId, StoredEvent[]>();
  const streams = new Set<{ tell(): void; hint(text: string): void; cut(): void }>();
  const asked: string[] = [];
  let answered = 0;
  let refuses = false;
  let held: Promise<void> = Promise.resolve();

  function serve(cursors: Map<SessionId, Seq>, signal: AbortSignal | null | undefined): Response {
    answered += 1;
    const encoder = new TextEncoder();
    let left: () => unknown;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const push = (text: string): void => controller.enqueue(encoder.encode(text));
        const stream = {
          tell() {
            for (const [id, after] of cursors)
              for (const event of logs.get(id) ?? []) {
                if (event.seq <= after) continue;
                cursors.set(id, event.seq);
                push(encodeWatchedSseFrame(id, event, cursors));
              }
          },
          hint: push,
          cut() {
            if (streams.delete(stream)) controller.close();
          },
        };
        streams.add(stream);
        signal?.addEventListener("abort", () => stream.cut());
        left = () => streams.delete(stream);
        stream.tell();
      },
      cancel: () => void left(),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  return {
    asked,
    open: () => streams.size,
    answered: () => answered,
    add(id: SessionId) {
      const log = logs.get(id) ?? [];
      logs.set(id, log);
      const seq = at(log.length + 1);
      log.push({
        seq,
        id: ids.make("event"),
        type: "session.changed",
        v: 1,
        at: 1,
        data: {},
      });
      for (const stream of streams) stream.tell();
    },
    hint: (text: string) => streams.forEach((stream) => stream.hint(text)),
    cut: () => streams.forEach((stream) => stream.cut()),
    refuse: (does: boolean) => void (refuses = does),
    /** What is asked from here on is answered later. */
    hold(until: Promise<void>) {
      held = until;
    },
    async fetch(url: string, init: RequestInit): Promise<Response> {
      asked.push(url);
      await held;
      if (refuses) throw new TypeError("no host");
      const { pathname, searchParams } = new URL(url);
      const own = /sessions\/([^/]+)\/events/.exec(pathname)?.[1] as SessionId | undefined;
      const cursors =
        own === undefined
          ? decodeCursors(searchParams.get("watch") ?? "")
          : new Map([[own, at(Number(searchParams.get("after")))]]);
      if (cursors === null || [...cursors.keys()].some((id) => !logs.has(id)))
        return Response.json({}, { status: 404 });
      return serve(new Map(cursors), init.signal);
    },
  };
}

/** Where a test keeps what is to be done when it is over. */
type OnCleanup = (end: () => void) => void;

export type EventHost = ReturnType<typeof createEventHost>;

let browserCount = 0;

/** A browser with tabs. A tab that sleeps neither hears nor says anything, and keeps what it holds. */
export function createTestBrowser(host: EventHost, whenOver: OnCleanup, patienceMs = 60) {
  const name = `test ${++browserCount}`;
  let names = 0;
  const open = (): { line: SharedFetch; sleep(): void; close(): void } => {
    const channel = new BroadcastChannel(name);
    let isAsleep = false;
    const gone = Promise.withResolvers<void>();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no target
    const post = (word: unknown): void => channel.postMessage(word);
    const deaf = {
      postMessage: (word: unknown) => void (isAsleep || post(word)),
      addEventListener: (_: string, listener: (event: MessageEvent) => void) =>
        channel.addEventListener("message", (event) => void (isAsleep || listener(event))),
    } as unknown as BroadcastChannel;
    const line = createSharedFetch({
      fetch: (url, init) => host.fetch(url, init),
      base: `${base}${name}/`,
      locks: {
        query: () => navigator.locks.query(),
        // It asks for nothing while it sleeps, and holds what it is given.
        request: (async (lock: string, options: LockOptions, hold: () => Promise<void>) => {
          if (isAsleep) return gone.promise;
          return navigator.locks.request(lock, options, () => (isAsleep ? gone.promise : hold()));
        }) as LockManager["request"],
      },
      channel: deaf,
      newName: () => `${name} ${++names}`,
      leaderTimeoutMs: patienceMs,
    });
    const close = (): void => {
      gone.resolve();
      line.close();
      channel.close();
    };
    whenOver(close);
    return { line, sleep: () => void (isAsleep = true), close };
  };
  return { open };
}

/** A pause between two tries is short here; the silence after which a host counts as gone is as long as it is. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms > 20_000 ? ms : 2);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** What the protocol's own client makes of a stream, over however many connections. */
export function follow(line: SharedFetch, id: SessionId, after: number, whenOver: OnCleanup) {
  const leaving = new AbortController();
  whenOver(() => leaving.abort());
  const client = createClient({ baseUrl: base, fetch: line.fetch, sleep: pause });
  const seen: number[] = [];
  const kinds: string[] = [];
  void (async () => {
    for await (const item of client.follow(id, at(after), { signal: leaving.signal })) {
      kinds.push(item.kind);
      if (item.kind === "event") seen.push(item.event.seq);
    }
  })();
  return { seen, kinds, leave: () => leaving.abort() };
}
