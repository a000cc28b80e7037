import { type Commit, createLog, runFsck, type Store } from "@holdfast/engine";
import {
  aCommit,
  aFile,
  aHolder,
  anEvent,
  aNotice,
  anOwner,
  toSeq,
} from "@holdfast/testing/fixtures/factories";
import { openTestSession, type TestSession, seqsOf } from "@holdfast/testing/fixtures/open-session";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { type BlobId, ids, type SessionId } from "@holdfast/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { postgresHarness, sqliteHarness } from "@holdfast/testing/stores/database-harnesses";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";

/** Passes a value of another type, like a caller with a bug. */
const as = <T>(value: unknown): T => value as T;

function circular(): object {
  const loop: { self?: object } = {};
  loop.self = loop;
  return loop;
}

/** Commits that are invalid by themselves, whatever the store holds. */
function invalidCommits(chat: TestSession): Record<string, Commit> {
  const withData = (data: unknown): Commit =>
    aCommit(chat, [{ ...aNotice(), data: as<ReturnType<typeof aNotice>["data"]>(data) }]);
  return {
    "a function in the data": withData({ text: () => "hello" }),
    "a symbol in the data": withData({ text: Symbol("hello") }),
    "a bigint in the data": withData({ noticeId: ids.make("notice"), kind: "a", text: 1n }),
    "data that contains itself": withData(circular()),
    "an event without data": withData(undefined),
    "a text in the place of the events": { ...aCommit(chat, []), events: as("many") },
    "no events": aCommit(chat, []),
    "a session id that is a number": { ...aCommit(chat, [aNotice()]), session: as(17) },
    "a fence that is a text": {
      ...aCommit(chat, [aNotice()]),
      under: as({ lease: "run", fence: "1" }),
    },
    "an event that is nothing": aCommit(chat, [as(null)]),
  };
}

describe.each([referenceHarness, sqliteHarness, postgresHarness(createDatabase)])(
  "bad input to the $name store",
  ({ open }) => {
    let harness: StoreHarness;
    let store: Store;
    beforeAll(async () => {
      harness = await open();
      store = harness.store;
    });
    afterAll(() => harness.close());

    test("malformed input is refused by the log with a reason, and nothing is written", async () => {
      const chat = await openTestSession(store);
      const log = createLog(store);
      for (const [what, invalid] of Object.entries(invalidCommits(chat))) {
        const result = await log.commit(invalid);
        expect(result, `with ${what}`).toMatchObject({ status: "refused", code: "invalid_event" });
      }
      const large = aCommit(chat, [aNotice("x".repeat(2_000_000))]);
      expect(await log.commit(large)).toMatchObject({ code: "payload_too_large" });
      expect((await chat.row()).head).toBe(1);
    });

    test("unknown ids are answered as such, everywhere", async () => {
      const [owner, session, holder] = [anOwner(), ids.make("session"), aHolder()];
      const { reads, leases } = store;
      expect(await store.commit(aCommit({ owner, session }, [aNotice()]))).toMatchObject({
        code: "session_not_found",
      });
      expect(await store.purge(owner, session)).toMatchObject({ code: "session_not_found" });
      const request = { kind: "run", session, holder, ttlMs: 1_000 } as const;
      expect(await leases.acquire(request)).toMatchObject({ code: "session_not_found" });
      expect(await reads.session(owner, session)).toBeNull();
      expect(await reads.events(owner, session, { after: toSeq(0), limit: 1 })).toBeNull();
      expect(await reads.run(owner, ids.make("run"))).toBeNull();
      const blob: BlobId = as(`blob_${"0".repeat(64)}`);
      expect(await reads.blob(owner, blob)).toBeNull();
      const hostileText: SessionId = as("'; DROP TABLE sessions; --");
      expect(await reads.session(owner, hostileText)).toBeNull();
    });

    test("[safety] filters, keys and names are treated as data, whatever they contain", async () => {
      const chat = await openTestSession(store);
      const { owner } = chat;
      const { reads, register } = store;
      const hostile = [
        "x' OR '1'='1",
        "%' --",
        "\\'; DROP TABLE sessions; --",
        "') UNION SELECT 1 --",
      ];
      for (const text of hostile) {
        expect(await reads.sessions(owner, { limit: 5, project: text })).toMatchObject({
          sessions: [],
        });
        expect(await reads.sessions(owner, { limit: 5, tag: text })).toMatchObject({
          sessions: [],
        });
        expect(await register.list(owner, text, 5)).toEqual([]);
        const put = await register.put({ owner, key: text, value: "{}", expect: 0 });
        expect(put).toMatchObject({ status: "put" });
        expect(await register.read(owner, text)).toMatchObject({ key: text });
        const change = { project: text, tags: [text] };
        await chat.commit([anEvent("session.changed", change)]);
        const found = await reads.sessions(owner, { limit: 5, project: text, tag: text });
        expect(found.sessions.map(({ id }) => id)).toEqual([chat.session]);
      }
    });

    test("ten megabytes of tool output go to a blob, round-trip byte by byte, and add nothing to the event", async () => {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      const output = Buffer.from("line of output äöü\u0000\n".repeat(500_000)).subarray(
        0,
        10_485_760,
      );
      const stored = await store.putBlob(chat.owner, output, "text/plain");
      if (stored.status !== "stored") throw new Error(JSON.stringify(stored));
      const message = {
        messageId: ids.make("message"),
        parts: [{ ...aFile(stored.id, stored.size) }],
      };
      await chat.commit([anEvent("message.user", message, runId)], { under });
      const found = await store.reads.blob(chat.owner, stored.id);
      expect(Buffer.compare(found?.bytes ?? Buffer.alloc(0), output)).toBe(0);
    });

    test("the store is sound after all of it", async () => {
      const { found, failure } = await runFsck(store.audit, { now: await store.now() });
      expect([...found, failure]).toEqual([undefined]);
    });
  },
);

describe("a caller that bypasses the log on the sqlite store", () => {
  let harness: StoreHarness;
  let store: Store;
  beforeAll(async () => {
    harness = await sqliteHarness.open();
    store = harness.store;
  });
  afterAll(() => harness.close());

  test("gets an answer to anything, and its neighbours are written as usual", async () => {
    const chat = await openTestSession(store);
    for (const [what, invalid] of Object.entries(invalidCommits(chat))) {
      const before = (await chat.row()).head;
      const [first, bad, second] = await Promise.all([
        chat.send([aNotice()]),
        store.commit(invalid).catch((error: unknown) => ({ status: "threw", error })),
        chat.send([aNotice()]),
      ]);
      expect([first, second], `beside ${what}`).toMatchObject([
        { status: "committed", first: before + 1 },
        { status: "committed", first: before + 2 },
      ]);
      expect(["refused", "failed"], `${what}: ${JSON.stringify(bad)}`).toContain(bad.status);
    }
    const { head } = await chat.row();
    expect(seqsOf(await chat.events())).toEqual(Array.from({ length: head }, (_, i) => i + 1));
  });
});
