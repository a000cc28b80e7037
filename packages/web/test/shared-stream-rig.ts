import { createClient, createStreamOpener, createTransport, type Fetch } from "@holdfast/client";
import {
  decodeCursors,
  encodeWatchedSseFrame,
  ids,
  type Seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import { sharedNames } from "../src/shared-stream/messages.ts";
import { createSharedStreams, type SharedStreams } from "../src/shared-stream/shared-streams.ts";

export const base = "http://host/";
export const at = (seq: number): Seq => seq as Seq;

/** A host with growing logs that streams as the real one does: from a cursor on, in order, until the stream is cut. */
export function createEventHost() {
  const logs = new Map<SessionId, StoredEvent[]>();
  const streams = new Set<{ flush(): void; sendHint(text: string): void; cut(): void }>();
  const requests: string[] = [];
  let responseCount = 0;
  let isDown = false;
  let gate: Promise<void> = Promise.resolve();

  function serve(cursors: Map<SessionId, Seq>, signal: AbortSignal | null | undefined): Response {
    responseCount += 1;
    const encoder = new TextEncoder();
    let onCancel: () => unknown;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const push = (text: string): void => controller.enqueue(encoder.encode(text));
        const stream = {
          flush() {
            for (const [id, after] of cursors)
              for (const event of logs.get(id) ?? []) {
                if (event.seq <= after) continue;
                cursors.set(id, event.seq);
                push(encodeWatchedSseFrame(id, event, cursors));
              }
          },
          sendHint: push,
          cut() {
            if (streams.delete(stream)) controller.close();
          },
        };
        streams.add(stream);
        signal?.addEventListener("abort", () => stream.cut());
        onCancel = () => streams.delete(stream);
        stream.flush();
      },
      cancel: () => void onCancel(),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  return {
    requests,
    openStreams: () => streams.size,
    responseCount: () => responseCount,
    append(id: SessionId) {
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
      for (const stream of streams) stream.flush();
    },
    sendHint: (text: string) => streams.forEach((stream) => stream.sendHint(text)),
    cut: () => streams.forEach((stream) => stream.cut()),
    setDown: (down: boolean) => void (isDown = down),
    /** Delays the answers to later requests. */
    hold(until: Promise<void>) {
      gate = until;
    },
    async fetch(url: string, init: RequestInit): Promise<Response> {
      requests.push(url);
      await gate;
      if (isDown) throw new TypeError("no host");
      const { pathname, searchParams } = new URL(url);
      const sessionId = /sessions\/([^/]+)\/events/.exec(pathname)?.[1] as SessionId | undefined;
      const cursors =
        sessionId === undefined
          ? decodeCursors(searchParams.get("watch") ?? "")
          : new Map([[sessionId, at(Number(searchParams.get("after")))]]);
      if (cursors === null || [...cursors.keys()].some((id) => !logs.has(id)))
        return Response.json({}, { status: 404 });
      return serve(new Map(cursors), init.signal);
    },
  };
}

/** Registers what to do when the test ends. */
type OnCleanup = (cleanup: () => void) => void;

export type EventHost = ReturnType<typeof createEventHost>;

let browserCount = 0;

/** A browser with tabs. A suspended tab sends and receives nothing, and keeps the locks that it holds. */
export function createTestBrowser(host: EventHost, onCleanup: OnCleanup, leaderTimeoutMs = 60) {
  const name = `test ${++browserCount}`;
  const baseUrl = `${base}${name}/`;
  const channelName = sharedNames(baseUrl).channel;
  const fetch: Fetch = (url, init) => host.fetch(url, init);
  const openDirectly = createStreamOpener(createTransport({ baseUrl: base, fetch }));
  let idCount = 0;
  const open = (): { shared: SharedStreams; suspend(): void; close(): void } => {
    const channel = new BroadcastChannel(channelName);
    let isSuspended = false;
    const closed = Promise.withResolvers<void>();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no target
    const post = (message: unknown): void => channel.postMessage(message);
    const suspendableChannel = {
      postMessage: (message: unknown) => void (isSuspended || post(message)),
      addEventListener: (_: string, listener: (event: MessageEvent) => void) =>
        channel.addEventListener("message", (event) => void (isSuspended || listener(event))),
    } as unknown as BroadcastChannel;
    const shared = createSharedStreams({
      openDirectly,
      baseUrl,
      locks: {
        query: () => navigator.locks.query(),
        // A suspended tab requests no lock, and keeps one that it is granted until it closes.
        request: (async (lock: string, options: LockOptions, hold: () => Promise<void>) => {
          if (isSuspended) return closed.promise;
          return navigator.locks.request(lock, options, () =>
            isSuspended ? closed.promise : hold(),
          );
        }) as LockManager["request"],
      },
      channel: suspendableChannel,
      newId: () => `${name} ${++idCount}`,
      leaderTimeoutMs,
    });
    const close = (): void => {
      closed.resolve();
      shared.close();
      channel.close();
    };
    onCleanup(close);
    return { shared, suspend: () => void (isSuspended = true), close };
  };
  return { open, baseUrl, channelName };
}

/** Shortens the pauses between retries, but not the silence after which the client gives up on a host. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms > 20_000 ? ms : 2);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Follows a session with the real client, over however many connections. */
export function follow(shared: SharedStreams, id: SessionId, after: number, onCleanup: OnCleanup) {
  const leaving = new AbortController();
  onCleanup(() => leaving.abort());
  const client = createClient({ baseUrl: base, openStream: shared.open, sleep: pause });
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
