import { createClient } from "@holdfast/client";
import { encodeListSseFrame, encodeResyncSseFrame, ids, type SessionId } from "@holdfast/protocol";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import type { SharedFetch } from "./shared-fetch.ts";
import * as rig from "../../test/shared-stream-rig.ts";
import { at, base, createEventHost, type EventHost, pause } from "../../test/shared-stream-rig.ts";

const createBrowser = (host: EventHost, patienceMs?: number) =>
  rig.createTestBrowser(host, onTestFinished, patienceMs);
const follow = (line: SharedFetch, id: SessionId, after = 0) =>
  rig.follow(line, id, after, onTestFinished);

const numbers = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index + 1);

function begin(host: EventHost, count: number): SessionId {
  const id = ids.make("session");
  for (let index = 0; index < count; index++) host.add(id);
  return id;
}

test("eight tabs with eight conversations hold one connection, and each gets its own events", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const tabs = Array.from({ length: 8 }, () => {
    const id = begin(host, 3);
    return { id, ...follow(browser.open().line, id, 1) };
  });
  await expect.poll(() => tabs.map(({ seen }) => seen)).toEqual(tabs.map(() => [2, 3]));
  for (const { id } of tabs) host.add(id);
  await expect.poll(() => tabs.map(({ seen }) => seen)).toEqual(tabs.map(() => [2, 3, 4]));
  expect(host.open()).toBe(1);
  for (const { leave } of tabs) leave();
  await expect.poll(() => host.open()).toBe(0);
});

test("[P5] what is said while somebody joins waits for what they lack, and reaches the others at once", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const id = begin(host, 5);
  const there = follow(browser.open().line, id);
  await expect.poll(() => there.seen).toEqual(numbers(0, 5));
  const gate = Promise.withResolvers<void>();
  host.hold(gate.promise);
  const joins = follow(browser.open().line, id, 2);
  await expect.poll(() => host.asked.length).toBe(2);
  host.add(id);
  await expect.poll(() => there.seen).toEqual(numbers(0, 6));
  gate.resolve();
  await expect.poll(() => joins.seen).toEqual(numbers(2, 6));
  host.add(id);
  await expect.poll(() => [there.seen, joins.seen]).toEqual([numbers(0, 7), numbers(2, 7)]);
});

test("[P5] who comes back to a conversation while another one is being opened goes on hearing it", async () => {
  const host = createEventHost();
  const { line } = createBrowser(host).open();
  const [id, other] = [begin(host, 2), begin(host, 1)];
  // Keeps the connection, as the list of sessions does.
  const stays = follow(line, begin(host, 1));
  const first = follow(line, id);
  await expect.poll(() => [stays.seen, first.seen]).toEqual([[1], [1, 2]]);
  first.leave();
  const gate = Promise.withResolvers<void>();
  const before = host.asked.length;
  host.hold(gate.promise);
  const between = follow(line, other);
  await expect.poll(() => host.asked.length).toBe(before + 1);
  between.leave();
  const again = follow(line, id, 2);
  host.add(id);
  gate.resolve();
  await expect.poll(() => again.seen).toEqual([3]);
  host.add(id);
  await expect.poll(() => again.seen).toEqual([3, 4]);
});

test("a connection that nobody wants any more when it opens is let go", async () => {
  const host = createEventHost();
  const { line } = createBrowser(host).open();
  const id = begin(host, 1);
  const gate = Promise.withResolvers<void>();
  host.hold(gate.promise);
  const leaves = follow(line, id);
  await expect.poll(() => host.asked.length).toBe(1);
  leaves.leave();
  gate.resolve();
  await expect.poll(() => host.answered()).toBe(1);
  await expect.poll(() => host.open()).toBe(0);
});

test("the tab that leads closes: another one goes on where each stood", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const id = begin(host, 2);
  const [leads, other] = [browser.open(), browser.open()];
  const first = follow(leads.line, id);
  const second = follow(other.line, id);
  await expect
    .poll(() => [first.seen, second.seen])
    .toEqual([
      [1, 2],
      [1, 2],
    ]);
  leads.close();
  host.add(id);
  await expect.poll(() => second.seen).toEqual([1, 2, 3]);
  expect(host.open()).toBe(1);
});

test("the tab that leads was put to sleep: one that needs it takes over, and what the sleeper says later counts no more", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const id = begin(host, 2);
  const [leads, other] = [browser.open(), browser.open()];
  follow(leads.line, id);
  await expect.poll(() => host.open()).toBe(1);
  leads.sleep();
  const second = follow(other.line, id);
  await expect.poll(() => second.seen).toEqual([1, 2]);
  host.add(id);
  await expect.poll(() => second.seen).toEqual([1, 2, 3]);
});

test("what nobody numbers reaches everybody who watches the list, and a take-over tells them to look again", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const tabs = [browser.open(), browser.open()];
  const heard = tabs.map(({ line }) => {
    const client = createClient({ baseUrl: base, fetch: line.fetch, sleep: pause });
    const leaving = new AbortController();
    onTestFinished(() => leaving.abort());
    const told: string[] = [];
    const onConnection = (state: string): void => void told.push(state);
    void (async () => {
      for await (const item of client.watch(new Map(), { signal: leaving.signal, onConnection }))
        told.push(item.kind);
    })();
    return told;
  });
  await expect.poll(() => heard).toEqual([["live"], ["live"]]);
  host.hint(encodeListSseFrame({ sessionId: ids.make("session"), session: null }));
  await expect
    .poll(() => heard)
    .toEqual([
      ["live", "list"],
      ["live", "list"],
    ]);
  tabs[0]?.close();
  await expect.poll(() => heard[1]?.slice(2)).toEqual(["reconnecting", "live"]);
});

test("a session that the host refuses is refused to who wants it, and to nobody else", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const id = begin(host, 1);
  const good = follow(browser.open().line, id);
  await expect.poll(() => good.seen).toEqual([1]);
  const bad = follow(browser.open().line, ids.make("session"));
  await expect.poll(() => bad.kinds).toEqual(["ended"]);
  host.add(id);
  await expect.poll(() => good.seen).toEqual([1, 2]);
});

test("who is very far behind goes alone, and holds up nobody", async () => {
  const host = createEventHost();
  const browser = createBrowser(host);
  const id = begin(host, 1500);
  const near = follow(browser.open().line, id, 1499);
  await expect.poll(() => near.seen).toEqual([1500]);
  const far = follow(browser.open().line, id, 0);
  await expect.poll(() => far.seen.length).toBe(1500);
  expect(host.asked.filter((url) => url.includes("/sessions/")).length).toBe(1);
  host.hint(encodeResyncSseFrame({ reason: "ahead", seq: at(7), sessionId: id }));
  await expect.poll(() => near.kinds.at(-1)).toBe("resync");
});

/** What may happen to the tabs of a browser, in any order. */
type Act = "open" | "close first" | "close last" | "sleep first" | "say" | "cut" | "away" | "back";
const acts = fc.array(
  fc.constantFrom<Act>(
    "open",
    "open",
    "say",
    "say",
    "say",
    "close first",
    "close last",
    "sleep first",
    "cut",
    "away",
    "back",
  ),
  { minLength: 4, maxLength: 24 },
);

test("[P5] whatever happens to tabs and connections, each tab gets every event behind its cursor, once and in order", async () => {
  await fc.assert(
    fc.asyncProperty(acts, fc.infiniteStream(fc.nat(2)), async (happens, choose) => {
      const host = createEventHost();
      const browser = createBrowser(host, 20);
      const sessions = [1, 2, 3].map((count) => begin(host, count));
      const said = new Map(sessions.map((id, index) => [id, index + 1]));
      let tabs: {
        line: SharedFetch;
        id: SessionId;
        after: number;
        seen: number[];
        sleep(): void;
        close(): void;
      }[] = [];
      for (const act of happens) {
        const id = sessions[choose.next().value ?? 0] as SessionId;
        const count = said.get(id) ?? 0;
        if (act === "open") {
          const after = Math.max(0, count - (choose.next().value ?? 0));
          const tab = browser.open();
          tabs.push({ ...tab, id, after, seen: follow(tab.line, id, after).seen });
        }
        if (act === "say") {
          said.set(id, count + 1);
          host.add(id);
        }
        if (act === "close first") tabs.shift()?.close();
        if (act === "close last") tabs.pop()?.close();
        if (act === "sleep first") tabs.shift()?.sleep();
        if (act === "cut") host.cut();
        if (act === "away" || act === "back") host.refuse(act === "away");
        for (const tab of tabs) {
          const { seen, after } = tab;
          expect(seen).toEqual(numbers(after, after + seen.length));
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      host.refuse(false);
      // Whoever comes back to a tab finds out whether the one that leads sleeps.
      for (const { line } of tabs) line.checkLeader();
      const whole = () => tabs.map(({ id, after }) => numbers(after, said.get(id) ?? 0));
      await expect.poll(() => tabs.map(({ seen }) => seen), { interval: 5 }).toEqual(whole());
      tabs.forEach((tab) => tab.close());
      tabs = [];
    }),
    { numRuns: 40 },
  );
});
