import { type Clock, systemClock } from "@holdfast/engine";
import { aDelta, aNotice } from "@holdfast/testing/fixtures/factories";
import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import {
  createSseDecoder,
  decodeCursors,
  decodeSseFrame,
  ids,
  type NewEvent,
  type SessionId,
  type SseItem,
  type StreamItem,
} from "@holdfast/protocol";
import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";

import { listen } from "../http/server.ts";
import { type ApiRig, openApi } from "../../../test/support/api-rig.ts";

async function open(clock: Clock = systemClock) {
  const rig = openApi([], { clock });
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
    expect(rig.log.watchedSessions).toBe(0);
  });
  return { rig, id: await newSession(rig) };
}

async function newSession({ log, owner }: ApiRig): Promise<SessionId> {
  return (await log.createSession({ owner })).session;
}

async function append({ log, owner }: ApiRig, session: SessionId, events: readonly NewEvent[]) {
  const result = await log.commit({ owner, session, events });
  if (result.status !== "committed") throw new Error(result.message);
  return result;
}

/** Reads a stream chunk by chunk, as far as a test needs. */
function readFrames(answer: Response) {
  const decoder = createSseDecoder();
  const reader = (answer.body ?? new ReadableStream<Uint8Array>()).getReader();
  const waiting: SseItem[] = [];
  async function next(): Promise<SseItem | "end"> {
    for (;;) {
      const item = waiting.shift();
      if (item !== undefined) return item;
      const { done, value } = await reader.read();
      if (done) return "end";
      waiting.push(...decoder.push(value));
    }
  }
  async function nextFrame(): Promise<{ item: StreamItem | null; id: string | undefined } | "end"> {
    for (;;) {
      const item = await next();
      if (item === "end") return "end";
      if (item.kind === "frame") return { item: decodeSseFrame(item.frame), id: item.frame.id };
    }
  }
  async function seqs(count: number): Promise<number[]> {
    const found: number[] = [];
    while (found.length < count) {
      const frame = await nextFrame();
      if (frame === "end") throw new Error(`The stream ended after ${found.join()}.`);
      if (frame.item?.kind === "event") found.push(frame.item.event.seq);
    }
    return found;
  }
  return { next, nextFrame, seqs, leave: () => reader.cancel() };
}

test("a reader gets the events after its cursor and then new ones, and disconnecting releases everything", async () => {
  const { rig, id } = await open();
  await append(rig, id, [aNotice(), aNotice()]);
  const answer = await rig.ask("GET", `/api/sessions/${id}/events?after=1`);
  expect(answer.headers.get("content-type")).toBe("text/event-stream");
  const stream = readFrames(answer);
  expect(await stream.next()).toMatchObject({ kind: "retry" });
  expect(await stream.seqs(2)).toEqual([2, 3]);
  await append(rig, id, [aNotice()]);
  expect(await stream.seqs(1)).toEqual([4]);
  await stream.leave();
  await expect.poll(() => rig.log.watchedSessions).toBe(0);
});

test("[P5] Last-Event-ID takes precedence over the cursor in the URL", async () => {
  const { rig, id } = await open();
  await append(rig, id, [aNotice(), aNotice()]);
  const headers = { "last-event-id": "2" };
  const path = `/api/sessions/${id}/events?after=0`;
  const stream = readFrames(await rig.ask("GET", path, undefined, headers));
  expect(await stream.seqs(1)).toEqual([3]);
  await stream.leave();
  const wrong = await rig.ask("GET", path, undefined, { "last-event-id": "three" });
  expect(wrong.status).toBe(400);
});

test.each([
  ["ahead", 99],
  ["behind", 0],
])("a cursor too far %s gets a resync", async (reason, after) => {
  const { rig, id } = await open();
  for (let left = reason === "behind" ? 5_200 : 0; left > 0; left -= 400)
    await append(
      rig,
      id,
      Array.from({ length: 400 }, () => aNotice()),
    );
  const stream = readFrames(await rig.ask("GET", `/api/sessions/${id}/events?after=${after}`));
  const row = await rig.store.reads.session(rig.owner, id);
  expect(await stream.nextFrame()).toMatchObject({
    item: { kind: "resync", resync: { reason, seq: row?.head } },
    id: undefined,
  });
  await append(rig, id, [aNotice()]);
  expect(await stream.seqs(1)).toEqual([(row?.head ?? 0) + 1]);
  await stream.leave();
});

test("an idle stream sends a heartbeat every fifteen seconds", async () => {
  const clock = manualClock();
  const { rig, id } = await open(clock);
  const stream = readFrames(await rig.ask("GET", `/api/sessions/${id}/events?after=1`));
  expect(await stream.next()).toMatchObject({ kind: "retry" });
  for (const _ of [1, 2]) {
    const beat = stream.next();
    await nextTurn();
    await clock.advance(15_000);
    expect(await beat).toMatchObject({ kind: "comment" });
  }
  await stream.leave();
});

test("a client that stalls for thirty seconds is dropped, and a slow one is not", async () => {
  const clock = manualClock();
  const { rig, id } = await open(clock);
  const events = `/api/sessions/${id}/events?after=1`;
  const slow = readFrames(await rig.ask("GET", events));
  const absent = readFrames(await rig.ask("GET", events));
  await expect.poll(() => rig.log.watchedSessions).toBe(1);
  await append(rig, id, [aNotice()]);
  await nextTurn();
  await clock.advance(29_000);
  expect(await slow.seqs(1)).toEqual([2]);
  await clock.advance(2_000);
  await append(rig, id, [aNotice()]);
  expect(await slow.seqs(1)).toEqual([3]);
  await slow.leave();
  // It only gets what was written before it was dropped.
  expect(await absent.nextFrame()).toBe("end");
  await expect.poll(() => rig.log.watchedSessions).toBe(0);
});

test.each([
  ["of one session", (id: SessionId, after: number) => `/api/sessions/${id}/events?after=${after}`],
  ["of several", (id: SessionId, after: number) => `/api/events?watch=${id}:${after}`],
])(
  "a reader %s that falls behind is disconnected with its cursor and resumes from it",
  async (_of, path) => {
    const { rig, id } = await open();
    const slow = readFrames(await rig.ask("GET", path(id, 1)));
    onTestFinished(() => slow.leave());
    await expect.poll(() => rig.log.watchedSessions).toBe(1);
    const count = 4_000;
    for (let at = 0; at < count; at += 200)
      await append(
        rig,
        id,
        Array.from({ length: 200 }, () => aNotice("x".repeat(2_000))),
      );

    const seen: number[] = [];
    let stream = slow;
    const silence = systemClock.sleep(30_000).then(() => "silence" as const);
    while (seen.length < count) {
      const frame = await Promise.race([stream.nextFrame(), silence]);
      if (frame === "silence")
        throw new Error(`The stream went silent after ${seen.length} events.`);
      if (frame === "end") stream = readFrames(await rig.ask("GET", path(id, seen.at(-1) ?? 1)));
      else if (frame.item?.kind === "event") seen.push(frame.item.event.seq);
    }
    await stream.leave();
    expect(stream).not.toBe(slow);
    expect(seen).toEqual(Array.from({ length: count }, (_, index) => index + 2));
  },
);

test("after a resync the event id of a stream of several sessions holds the new cursor", async () => {
  const { rig, id } = await open();
  const other = await newSession(rig);
  const stream = readFrames(await rig.ask("GET", `/api/events?watch=${id}:99,${other}:1`));
  expect(await stream.nextFrame()).toMatchObject({
    item: { kind: "resync", resync: { reason: "ahead", seq: 1, sessionId: id } },
  });
  await append(rig, other, [aNotice()]);
  const next = await stream.nextFrame();
  expect(next).toMatchObject({ item: { sessionId: other, event: { seq: 2 } } });
  expect(decodeCursors(next === "end" ? "" : (next.id ?? ""))).toEqual(
    new Map([
      [id, 1],
      [other, 2],
    ]),
  );
  await stream.leave();
});

test("one stream follows several sessions, and its event id holds a cursor for each", async () => {
  const { rig, id } = await open();
  const other = await newSession(rig);
  await append(rig, other, [aNotice()]);
  const watch = `/api/events?watch=${id}:1,${other}:1`;
  const stream = readFrames(await rig.ask("GET", watch));
  const first = await stream.nextFrame();
  expect(first).toMatchObject({ item: { kind: "event", sessionId: other, event: { seq: 2 } } });
  await append(rig, id, [aNotice()]);
  const second = await stream.nextFrame();
  expect(second).toMatchObject({ item: { sessionId: id, event: { seq: 2 } } });
  const cursor = second === "end" ? "" : (second.id ?? "");
  expect(decodeCursors(cursor)).toEqual(
    new Map([
      [id, 2],
      [other, 2],
    ]),
  );
  await stream.leave();

  await append(rig, other, [aNotice()]);
  const again = readFrames(await rig.ask("GET", watch, undefined, { "last-event-id": cursor }));
  expect(await again.nextFrame()).toMatchObject({ item: { sessionId: other, event: { seq: 3 } } });
  await again.leave();
  expect((await rig.ask("GET", "/api/events?watch=nonsense")).status).toBe(400);
});

test("a stream goes on without a session that is gone, and its event id can be resumed from", async () => {
  const { rig, id } = await open();
  const other = await newSession(rig);
  const watch = `/api/events?watch=${id}:1,${other}:1`;
  expect((await rig.client.trashSession({ params: { id: other } })).ok).toBe(true);
  const { store } = rig;
  const readSession = store.reads.session.bind(store.reads);
  // It is purged right after the route has found it.
  const finding = vi.spyOn(store.reads, "session").mockImplementation(async (owner, session) => {
    const found = await readSession(owner, session);
    if (session === other) await store.purge(owner, session);
    return found;
  });
  onTestFinished(() => finding.mockRestore());
  const stream = readFrames(await rig.ask("GET", watch));
  expect(await stream.nextFrame()).toMatchObject({
    item: { hint: { sessionId: other, session: null } },
  });
  await append(rig, id, [aNotice()]);
  const last = await stream.nextFrame();
  expect(last).toMatchObject({ item: { kind: "event", sessionId: id, event: { seq: 2 } } });
  const cursor = last === "end" ? "" : (last.id ?? "");
  expect(decodeCursors(cursor)).toEqual(new Map([[id, 2]]));
  await stream.leave();

  await append(rig, id, [aNotice()]);
  const again = readFrames(await rig.ask("GET", watch, undefined, { "last-event-id": cursor }));
  expect(await again.nextFrame()).toMatchObject({ item: { sessionId: id, event: { seq: 3 } } });
  await again.leave();
});

test("stopping the host ends its streams", async () => {
  const { rig, id } = await open();
  const streams = [
    readFrames(await rig.ask("GET", `/api/sessions/${id}/events?after=1`)),
    readFrames(await rig.ask("GET", "/api/events")),
  ];
  rig.closeStreams();
  for (const stream of streams) expect(await stream.nextFrame()).toBe("end");
});

test("a stopping host announces it on its streams and accepts nothing new", async () => {
  const { rig, id } = await open();
  const stream = readFrames(await rig.ask("GET", `/api/sessions/${id}/events?after=1`));
  rig.stopAdmitting();
  expect(await stream.nextFrame()).toMatchObject({
    item: { kind: "status", status: { code: "host_stopping" } },
    id: undefined,
  });
  const refused = await rig.ask("POST", "/api/sessions", {});
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  await stream.leave();
});

test("a HEAD request for a stream holds no resources", async () => {
  const { rig, id } = await open();
  const answer = await rig.ask("HEAD", `/api/sessions/${id}/events`);
  expect([answer.status, answer.body]).toEqual([200, null]);
  await nextTurn();
  expect(rig.log.watchedSessions).toBe(0);
});

test("a delta is sent with its sequence number in the log", async () => {
  const { rig, id } = await open();
  const stream = readFrames(await rig.ask("GET", `/api/sessions/${id}/events?after=1`));
  const { first } = await append(rig, id, [aDelta(ids.make("run"), "word")]);
  expect(await stream.nextFrame()).toMatchObject({
    id: String(first),
    item: { event: { type: "message.delta", data: { text: "word" } } },
  });
  await stream.leave();
});

test("a client that stops reading over a real connection is cut off", async () => {
  // Runs a hundred times as fast: the thirty-second deadline passes in 300 ms.
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => systemClock.sleep(ms / 100, signal),
  };
  const { rig, id } = await open(clock);
  // More than a connection's buffers hold.
  for (let sent = 0; sent < 28; sent += 1) await append(rig, id, [aNotice("x".repeat(1_000_000))]);
  const listener = await listen(rig.app, { host: "127.0.0.1", port: 0 });
  if (!listener.ok) throw new Error(listener.failure.message);
  onTestFinished(() => listener.value.close());
  const socket = connect(listener.value.port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  const { authorization } = rig.bearer;
  socket.write(
    `GET /api/sessions/${id}/events?after=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${authorization}\r\n\r\n`,
  );
  await once(socket, "readable");
  await expect.poll(() => rig.log.watchedSessions).toBe(0);
  let end = "";
  socket.on("data", (piece) => (end = (end + piece.toString()).slice(-10)));
  await once(socket, "close");
  // Cut off rather than ended cleanly, which would have to wait for the reader.
  expect(end).not.toContain("0\r\n\r\n");
});
