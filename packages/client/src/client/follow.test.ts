import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  type StoredEvent,
  type Seq,
  type SessionId,
  makeProblem,
  problemMediaType,
  decodeCursors,
  encodeSseComment,
  encodeEventSseFrame,
  encodeResyncSseFrame,
  encodeStatusSseFrame,
  encodeWatchedSseFrame,
} from "@holdfast/protocol";
import { sessionLog } from "@holdfast/testing/session-logs/session-log";
import { testId } from "@holdfast/testing/session-logs/write-log";
import { type ConnectionState, type FollowItem } from "./follow.ts";
import { createClient } from "./create-client.ts";
import { type Fetch } from "./call-route.ts";
import { type OpenStream, type StreamBatch, type StreamRequest } from "./event-stream.ts";

/** How one connection goes wrong. */
type Fault =
  | { readonly kind: "refused" | "overloaded" | "silent" }
  /** The host sends some events again, and the connection breaks after this many bytes. */
  | { readonly kind: "broken"; readonly again: number; readonly bytes: number };

const id = testId("session", 1);
const silenceMs = 45_000;
const bytesOf = (text: string) => new TextEncoder().encode(text);

function streamOf(bytes: Uint8Array, end: "close" | "stay"): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes);
      if (end === "close") controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function refusal(code: "too_many_requests" | "session_not_found"): Response {
  const problem = makeProblem(code);
  const headers = { "content-type": problemMediaType };
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}

/** Serves a log by cursor, unreliably at first. Time passes only where a test waits for it. */
function hostOf(log: readonly StoredEvent[], faults: readonly Fault[]) {
  const cursors: number[] = [];
  const fetch: Fetch = (url) => {
    const after = Number(new URL(url).searchParams.get("after"));
    const fault = faults[cursors.push(after) - 1];
    if (fault?.kind === "refused") throw new TypeError("connection refused");
    if (fault?.kind === "overloaded") return refusal("too_many_requests");
    if (fault?.kind === "silent") return streamOf(bytesOf(""), "stay");
    const broken = fault?.kind === "broken" ? fault : undefined;
    const from = after - (broken?.again ?? 0);
    const frames = log.filter(({ seq }) => seq > from).map(encodeEventSseFrame);
    const bytes = bytesOf(encodeSseComment("hello") + frames.join(""));
    return broken === undefined
      ? streamOf(bytes, "stay")
      : streamOf(bytes.subarray(0, broken.bytes), "close");
  };
  const sleep = (ms: number, signal: AbortSignal): Promise<void> => {
    const silent = faults[cursors.length - 1]?.kind === "silent";
    if (ms !== silenceMs || silent || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
  };
  return {
    cursors,
    client: createClient({ baseUrl: "http://host", fetch, sleep, random: () => 0 }),
  };
}

async function take(items: AsyncIterable<FollowItem>, count: number): Promise<FollowItem[]> {
  const taken: FollowItem[] = [];
  if (count === 0) return taken;
  for await (const item of items) {
    taken.push(item);
    if (taken.length === count) break;
  }
  return taken;
}

const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("refused" as const, "overloaded" as const, "silent" as const),
  }),
  fc.record({
    kind: fc.constant("broken" as const),
    again: fc.nat({ max: 5 }),
    bytes: fc.nat({ max: 5_000 }),
  }),
);

describe("following a session", () => {
  test("yields exactly the events after the cursor, each once and in order, whatever breaks", async () => {
    await fc.assert(
      fc.asyncProperty(
        sessionLog,
        fc.nat(),
        fc.array(fault, { maxLength: 6 }),
        async (log, startIndex, faults) => {
          const after = (startIndex % (log.length + 1)) as Seq;
          const { client } = hostOf(log, faults);
          const missing = log.filter(({ seq }) => seq > after);
          const items = await take(client.follow(id, after, { silenceMs }), missing.length);
          expect(items).toStrictEqual(missing.map((event) => ({ kind: "event", event })));
        },
      ),
      { numRuns: 200 },
    );
  });

  const log = fc.sample(sessionLog, { seed: 7, numRuns: 1 })[0] ?? [];

  test("reports the connection state, and that it recovered", async () => {
    const states: ConnectionState[] = [];
    const faults: Fault[] = [
      { kind: "broken", again: 0, bytes: 20 },
      ...Array.from({ length: 4 }, (): Fault => ({ kind: "refused" })),
    ];
    const { client } = hostOf(log, faults);
    await take(
      client.follow(id, 0 as Seq, { silenceMs, onConnection: (state) => states.push(state) }),
      1,
    );
    expect(states).toStrictEqual(["live", "reconnecting", "offline", "live"]);
  });

  test("leaves a silent host, and asks again from its cursor", async () => {
    const { client, cursors } = hostOf(log, [{ kind: "silent" }]);
    await take(client.follow(id, 1 as Seq, { silenceMs }), 1);
    expect(cursors).toStrictEqual([1, 1]);
  });

  test("passes a resync on and ends there", async () => {
    const resync = { reason: "behind" as const, seq: 9 as Seq };
    const status = { code: "store_unavailable" };
    const text =
      encodeStatusSseFrame(status) +
      encodeResyncSseFrame(resync) +
      log.map(encodeEventSseFrame).join("");
    const client = createClient({
      baseUrl: "http://host",
      fetch: () => streamOf(bytesOf(text), "close"),
    });
    const items = await take(client.follow(id, 0 as Seq), 10);
    expect(items).toStrictEqual([
      { kind: "status", status },
      { kind: "resync", resync },
    ]);
  });

  test("ends with the host's problem if there is no such session", async () => {
    const client = createClient({
      baseUrl: "http://host",
      fetch: () => refusal("session_not_found"),
    });
    const items = await take(client.follow(id, 0 as Seq), 10);
    expect(items).toMatchObject([{ kind: "ended", error: { code: "session_not_found" } }]);
  });

  test("ends quietly when aborted, and closes its connection", async () => {
    const abort = new AbortController();
    let signal: AbortSignal | null | undefined;
    const fetch: Fetch = (_, init) => {
      ({ signal } = init);
      return streamOf(bytesOf(encodeEventSseFrame(log[0]!)), "stay");
    };
    const client = createClient({ baseUrl: "http://host", fetch });
    const items: FollowItem[] = [];
    for await (const item of client.follow(id, 0 as Seq, { signal: abort.signal })) {
      items.push(item);
      abort.abort();
    }
    expect(items).toHaveLength(1);
    expect(signal?.aborted).toBe(true);
  });

  test("closes its connection when the reader leaves", async () => {
    let signal: AbortSignal | null | undefined;
    const fetch: Fetch = (_, init) => {
      ({ signal } = init);
      return streamOf(bytesOf(encodeEventSseFrame(log[0]!)), "stay");
    };
    await take(createClient({ baseUrl: "http://host", fetch }).follow(id, 0 as Seq), 1);
    expect(signal?.aborted).toBe(true);
  });
});

describe("following a stream that the caller opens", () => {
  const log = fc.sample(sessionLog, { seed: 9, numRuns: 1 })[0] ?? [];
  const batchOf = (...events: readonly (StoredEvent | undefined)[]): StreamBatch =>
    events.flatMap((event) => (event === undefined ? [] : [{ kind: "event", event }]));

  interface Sent {
    readonly batches: readonly StreamBatch[];
    readonly end: "close" | "stay";
  }

  function openerOf(...streams: readonly Sent[]) {
    const requests: StreamRequest[] = [];
    const signals: AbortSignal[] = [];
    const openStream: OpenStream = async (request, signal) => {
      const { batches, end } = streams[requests.push(request) - 1] ?? { batches: [], end: "stay" };
      signals.push(signal);
      const value = new ReadableStream<StreamBatch>({
        start(controller) {
          for (const batch of batches) controller.enqueue(batch);
          if (end === "close") controller.close();
        },
      });
      return { ok: true, value };
    };
    return { openStream, requests, signals };
  }
  const fetch: Fetch = () => {
    throw new Error("The client fetched by itself.");
  };

  test("passes its events on unchanged, and reopens it from the cursor", async () => {
    const [first, second, third] = log;
    const { openStream, requests, signals } = openerOf(
      { batches: [batchOf(first), []], end: "close" },
      { batches: [batchOf(first, second)], end: "close" },
      { batches: [[{ kind: "heartbeat" }], batchOf(third)], end: "stay" },
    );
    const client = createClient({ openStream, fetch, sleep: () => new Promise(setImmediate) });
    const items = await take(client.follow(id, 0 as Seq), 3);
    const events = items.map((item) => (item.kind === "event" ? item.event : null));
    expect(events).toStrictEqual([first, second, third]);
    // The same object: nothing was encoded or decoded on the way.
    expect(events[2]).toBe(third);
    expect(requests).toStrictEqual(
      [0, 1, 2].map((after) => ({ kind: "session", id, after: after as Seq })),
    );
    expect(signals.map(({ aborted }) => aborted)).toStrictEqual([true, true, true]);
  });

  test("closes it when it is silent; a heartbeat or half a frame counts as activity", async () => {
    let waits = 0;
    let passSilence = (): void => undefined;
    const sleep = (ms: number, signal: AbortSignal): Promise<void> => {
      if (ms !== silenceMs) return Promise.resolve();
      waits++;
      return new Promise((resolve) => {
        passSilence = resolve;
        signal.addEventListener("abort", () => resolve());
      });
    };
    const { openStream, requests } = openerOf(
      { batches: [[{ kind: "heartbeat" }], []], end: "stay" },
      { batches: [batchOf(log[0])], end: "stay" },
    );
    const client = createClient({ openStream, fetch, sleep });
    const followed = take(client.follow(id, 0 as Seq, { silenceMs }), 1);
    // One wait for the connection, one for each batch, and one that times out.
    await expect.poll(() => waits).toBe(4);
    expect(requests).toHaveLength(1);
    passSilence();
    expect(await followed).toStrictEqual([{ kind: "event", event: log[0] }]);
    expect(requests).toHaveLength(2);
  });
});

describe("watching several sessions", () => {
  const [a, b] = [testId("session", 1), testId("session", 2)];
  const events = fc.sample(sessionLog, { seed: 8, numRuns: 1 })[0] ?? [];

  test("releases the connection when its reader leaves, even if fetch ignores the signal", async () => {
    const released = Promise.withResolvers<string>();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) =>
        controller.enqueue(bytesOf(encodeWatchedSseFrame(a, events[0]!, new Map()))),
      cancel: () => released.resolve("released"),
    });
    const client = createClient({ baseUrl: "http://host", fetch: () => new Response(body) });
    for await (const item of client.watch(new Map([[a, 0 as Seq]]))) {
      expect(item.kind).toBe("event");
      break;
    }
    expect(await released.promise).toBe("released");
  });

  test("keeps each session's cursor across reconnects, and continues after a resync", async () => {
    const requestedCursors: (string | null)[] = [];
    const frame = (session: SessionId, n: number) =>
      encodeWatchedSseFrame(session, events[n - 1]!, new Map());
    const resync = { reason: "behind" as const, seq: 40 as Seq, sessionId: b };
    const answers = [
      frame(a, 1) + frame(b, 1) + frame(a, 1),
      frame(a, 2) + encodeResyncSseFrame(resync),
      frame(a, 3),
    ];
    const fetch: Fetch = (url) => {
      requestedCursors.push(new URL(url).searchParams.get("watch"));
      return streamOf(bytesOf(answers[requestedCursors.length - 1] ?? ""), "close");
    };
    const client = createClient({
      baseUrl: "http://host",
      fetch,
      sleep: () => new Promise(setImmediate),
    });
    const seen: string[] = [];
    for await (const item of client.watch(
      new Map([
        [a, 0 as Seq],
        [b, 0 as Seq],
      ]),
    )) {
      seen.push(
        item.kind === "event" ? `${item.sessionId === a ? "a" : "b"}${item.event.seq}` : item.kind,
      );
      if (seen.length === 5) break;
    }
    expect(seen).toStrictEqual(["a1", "b1", "a2", "resync", "a3"]);
    expect(
      requestedCursors.map((text) =>
        [...(decodeCursors(text ?? "?") ?? [])].map((pair) => pair[1]),
      ),
    ).toStrictEqual([
      [0, 0],
      [1, 1],
      [2, 40],
    ]);
  });
});
