import { createClient } from "@holdfast/client";
import {
  encodeListSseFrame,
  encodeResyncSseFrame,
  encodeStatusSseFrame,
  ids,
  type SessionId,
} from "@holdfast/protocol";
import * as fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { channelMessage } from "./messages.ts";
import type { SharedStreams } from "./shared-streams.ts";
import * as rig from "../../test/shared-stream-rig.ts";
import { at, base, createEventHost, type EventHost, pause } from "../../test/shared-stream-rig.ts";

const createBrowser = (host: EventHost, leaderTimeoutMs?: number) =>
  rig.createTestBrowser(host, onTestFinished, leaderTimeoutMs);
const follow = (shared: SharedStreams, id: SessionId, after = 0) =>
  rig.follow(shared, id, after, onTestFinished);

const seqs = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index + 1);

function createSession(host: EventHost, count: number): SessionId {
  const id = ids.make("session");
  for (let index = 0; index < count; index++) host.append(id);
  return id;
}

test("eight tabs with eight conversations share one connection, and each gets its own events", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const tabs = Array.from({ length: 8 }, () => {
    const id = createSession(host, 3);
    return { id, ...follow(browser.open().shared, id, 1) };
  });
  await expect.poll(() => tabs.map(({ seen }) => seen)).toEqual(tabs.map(() => [2, 3]));
  for (const { id } of tabs) host.append(id);
  await expect.poll(() => tabs.map(({ seen }) => seen)).toEqual(tabs.map(() => [2, 3, 4]));
  expect(host.openStreams()).toBe(1);
  for (const { leave } of tabs) leave();
  await expect.poll(() => host.openStreams()).toBe(0);
});

test("[P5] a joining tab gets what it lacks before new events, and the other tabs get those at once", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const id = createSession(host, 5);
  const current = follow(browser.open().shared, id);
  await expect.poll(() => current.seen).toEqual(seqs(0, 5));
  const gate = Promise.withResolvers<void>();
  host.hold(gate.promise);
  const joining = follow(browser.open().shared, id, 2);
  await expect.poll(() => host.requests.length).toBe(2);
  host.append(id);
  await expect.poll(() => current.seen).toEqual(seqs(0, 6));
  gate.resolve();
  await expect.poll(() => joining.seen).toEqual(seqs(2, 6));
  host.append(id);
  await expect.poll(() => [current.seen, joining.seen]).toEqual([seqs(0, 7), seqs(2, 7)]);
});

test("[P5] a tab that returns to a conversation while another one is being opened keeps getting its events", async () => {
  const host = createEventHost();
  const { shared } = createBrowser(host).open();
  const [id, other] = [createSession(host, 2), createSession(host, 1)];
  // Keeps the connection open, as the session list does.
  const staying = follow(shared, createSession(host, 1));
  const first = follow(shared, id);
  await expect.poll(() => [staying.seen, first.seen]).toEqual([[1], [1, 2]]);
  first.leave();
  const gate = Promise.withResolvers<void>();
  const earlierRequests = host.requests.length;
  host.hold(gate.promise);
  const between = follow(shared, other);
  await expect.poll(() => host.requests.length).toBe(earlierRequests + 1);
  between.leave();
  const again = follow(shared, id, 2);
  host.append(id);
  gate.resolve();
  await expect.poll(() => again.seen).toEqual([3]);
  host.append(id);
  await expect.poll(() => again.seen).toEqual([3, 4]);
});

test("a connection whose streams have all left by the time it opens is closed", async () => {
  const host = createEventHost();
  const { shared } = createBrowser(host).open();
  const id = createSession(host, 1);
  const gate = Promise.withResolvers<void>();
  host.hold(gate.promise);
  const leaving = follow(shared, id);
  await expect.poll(() => host.requests.length).toBe(1);
  leaving.leave();
  gate.resolve();
  await expect.poll(() => host.responseCount()).toBe(1);
  await expect.poll(() => host.openStreams()).toBe(0);
});

test("a connection that was replaced is closed before anything more arrives on it", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const first = follow(browser.open().shared, createSession(host, 1));
  await expect.poll(() => first.seen).toEqual([1]);
  const second = follow(browser.open().shared, createSession(host, 1));
  await expect.poll(() => second.seen).toEqual([1]);
  expect(host.responseCount()).toBe(2);
  await expect.poll(() => host.openStreams()).toBe(1);
});

test("what a closed tab showed is not requested again", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const [kept, closed, added] = [1, 1, 1].map((count) => createSession(host, count));
  if (!kept || !closed || !added) throw new Error("There are three sessions.");
  follow(browser.open().shared, kept);
  const tab = browser.open();
  const before = follow(tab.shared, closed);
  await expect.poll(() => before.seen).toEqual([1]);
  tab.close();
  const after = follow(browser.open().shared, added);
  await expect.poll(() => after.seen).toEqual([1]);
  expect(host.requests.at(-1)).toContain(kept);
  expect(host.requests.at(-1)).not.toContain(closed);
});

test("a session's status reaches only the tabs that show it, and the host's reaches all", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const [id, other] = [createSession(host, 1), createSession(host, 1)];
  const tabs = [follow(browser.open().shared, id), follow(browser.open().shared, other)];
  await expect.poll(() => tabs.map(({ seen }) => seen)).toEqual([[1], [1]]);
  await expect.poll(() => host.openStreams()).toBe(1);
  host.sendHint(encodeStatusSseFrame({ code: "store_full", sessionId: id }));
  host.sendHint(encodeStatusSseFrame({ code: "host_stopping" }));
  for (const session of [id, other]) host.append(session);
  await expect
    .poll(() => tabs.map(({ kinds }) => kinds))
    .toEqual([
      ["event", "status", "status", "event"],
      ["event", "status", "event"],
    ]);
});

test("another tab takes over when the leader closes, and every stream continues from its position", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const id = createSession(host, 2);
  const [leader, other] = [browser.open(), browser.open()];
  const first = follow(leader.shared, id);
  const second = follow(other.shared, id);
  await expect
    .poll(() => [first.seen, second.seen])
    .toEqual([
      [1, 2],
      [1, 2],
    ]);
  leader.close();
  host.append(id);
  await expect.poll(() => second.seen).toEqual([1, 2, 3]);
  expect(host.openStreams()).toBe(1);
});

test("a tab takes over from a suspended leader, and ignores what that one sends later", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const id = createSession(host, 2);
  const [leader, other] = [browser.open(), browser.open()];
  follow(leader.shared, id);
  await expect.poll(() => host.openStreams()).toBe(1);
  leader.suspend();
  const second = follow(other.shared, id);
  await expect.poll(() => second.seen).toEqual([1, 2]);
  host.append(id);
  await expect.poll(() => second.seen).toEqual([1, 2, 3]);
});

test("list hints reach every tab that watches the list, and a takeover makes them reconnect", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const tabs = [browser.open(), browser.open()];
  const received = tabs.map(({ shared }) => {
    const client = createClient({ baseUrl: base, openStream: shared.open, sleep: pause });
    const closing = new AbortController();
    onTestFinished(() => closing.abort());
    const seen: string[] = [];
    const onConnection = (state: string): void => void seen.push(state);
    void (async () => {
      for await (const item of client.watch(new Map(), { signal: closing.signal, onConnection }))
        seen.push(item.kind);
    })();
    return seen;
  });
  await expect.poll(() => received).toEqual([["live"], ["live"]]);
  host.sendHint(encodeListSseFrame({ sessionId: ids.make("session"), session: null }));
  await expect
    .poll(() => received)
    .toEqual([
      ["live", "list"],
      ["live", "list"],
    ]);
  tabs[0]?.close();
  await expect.poll(() => received[1]?.slice(2)).toEqual(["reconnecting", "live"]);
});

test("a session that the host refuses fails the stream that asked for it, and no other", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const id = createSession(host, 1);
  const good = follow(browser.open().shared, id);
  await expect.poll(() => good.seen).toEqual([1]);
  const bad = follow(browser.open().shared, ids.make("session"));
  await expect.poll(() => bad.kinds).toEqual(["ended"]);
  host.append(id);
  await expect.poll(() => good.seen).toEqual([1, 2]);
});

test("a stream that is far behind gets its own connection and delays no other", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const id = createSession(host, 1500);
  const near = follow(browser.open().shared, id, 1499);
  await expect.poll(() => near.seen).toEqual([1500]);
  const far = follow(browser.open().shared, id, 0);
  await expect.poll(() => far.seen.length).toBe(1500);
  expect(host.requests.filter((url) => url.includes("/sessions/")).length).toBe(1);
  host.sendHint(encodeResyncSseFrame({ reason: "ahead", seq: at(7), sessionId: id }));
  await expect.poll(() => near.kinds.at(-1)).toBe("resync");
});

test("each event is decoded once, however many tabs show it", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const id = createSession(host, 2);
  const followers = Array.from({ length: 5 }, () => follow(browser.open().shared, id, 2));
  await expect
    .poll(() => {
      host.sendHint(encodeStatusSseFrame({ code: "store_restored" }));
      return followers.map(({ kinds }) => kinds.includes("status"));
    })
    .toEqual(followers.map(() => true));
  const parse = vi.spyOn(JSON, "parse");
  onTestFinished(() => parse.mockRestore());
  for (let count = 0; count < 5; count++) host.append(id);
  await expect
    .poll(() => followers.map(({ seen }) => seen))
    .toEqual(followers.map(() => seqs(2, 7)));
  const parsed = parse.mock.calls.filter(([text]) => text.includes(id));
  expect(parsed.length).toBe(5);
});

test("a tab ignores messages that this version does not know, and keeps its stream", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const id = createSession(host, 1);
  const [leading, other] = [follow(browser.open().shared, id), follow(browser.open().shared, id)];
  await expect.poll(() => [leading.seen, other.seen]).toEqual([[1], [1]]);
  const stranger = new BroadcastChannel(browser.channelName);
  onTestFinished(() => stranger.close());
  const by = "a stranger";
  for (const message of [
    null,
    "said",
    { kind: "said", by, pieces: [{ to: id, seq: 9, text: "" }] },
    { kind: "want", tab: "t", stream: "s", wanted: { cursors: { [id]: 0 }, list: false } },
    { kind: "opened", by, streams: id },
    { kind: "items", by, items: [{ kind: "event", sessionId: id, event: { seq: 2 } }] },
  ])
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no target
    stranger.postMessage(message);
  host.append(id);
  await expect.poll(() => [leading.seen, other.seen]).toEqual([seqs(0, 2), seqs(0, 2)]);
});

test("an unknown item from the leader does not cost the events beside it", () => {
  const id = ids.make("session");
  const known = { kind: "status", status: { code: "store_unavailable", sessionId: id } };
  const items = [{ kind: "later" }, known, { kind: "event", sessionId: id, event: { seq: 0.5 } }];
  expect(channelMessage.parse({ kind: "items", by: "a leader", items })).toMatchObject({
    items: [{ kind: "heartbeat" }, known, { kind: "heartbeat" }],
  });
});

/** What may happen to the tabs of a browser, in any order. */
type Step =
  | "open"
  | "close first"
  | "close last"
  | "suspend first"
  | "append"
  | "cut"
  | "host down"
  | "host up";
const steps = fc.array(
  fc.constantFrom<Step>(
    "open",
    "open",
    "append",
    "append",
    "append",
    "close first",
    "close last",
    "suspend first",
    "cut",
    "host down",
    "host up",
  ),
  { minLength: 4, maxLength: 24 },
);

test("[P5] whatever happens to tabs and connections, each tab gets every event after its cursor, once and in order", async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.infiniteStream(fc.nat(2)), async (run, choose) => {
      const host = createEventHost();
      const browser = createBrowser(host, 20);
      const sessions = [1, 2, 3].map((count) => createSession(host, count));
      const eventCounts = new Map(sessions.map((id, index) => [id, index + 1]));
      let tabs: {
        shared: SharedStreams;
        id: SessionId;
        after: number;
        seen: number[];
        suspend(): void;
        close(): void;
      }[] = [];
      for (const step of run) {
        const id = sessions[choose.next().value ?? 0] as SessionId;
        const count = eventCounts.get(id) ?? 0;
        if (step === "open") {
          const after = Math.max(0, count - (choose.next().value ?? 0));
          const tab = browser.open();
          tabs.push({ ...tab, id, after, seen: follow(tab.shared, id, after).seen });
        }
        if (step === "append") {
          eventCounts.set(id, count + 1);
          host.append(id);
        }
        if (step === "close first") tabs.shift()?.close();
        if (step === "close last") tabs.pop()?.close();
        if (step === "suspend first") tabs.shift()?.suspend();
        if (step === "cut") host.cut();
        if (step === "host down" || step === "host up") host.setDown(step === "host down");
        for (const tab of tabs) {
          const { seen, after } = tab;
          expect(seen).toEqual(seqs(after, after + seen.length));
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      host.setDown(false);
      // A tab that becomes visible checks whether its leader is suspended.
      for (const { shared } of tabs) shared.checkLeader();
      const expected = () => tabs.map(({ id, after }) => seqs(after, eventCounts.get(id) ?? 0));
      await expect.poll(() => tabs.map(({ seen }) => seen), { interval: 5 }).toEqual(expected());
      tabs.forEach((tab) => tab.close());
      tabs = [];
    }),
    { numRuns: 40 },
  );
});
