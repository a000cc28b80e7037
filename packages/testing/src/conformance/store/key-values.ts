import { anOwner, anEvent } from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { assertSameJson, openTestSession, assertPresent } from "../../fixtures/open-session.ts";
import { answerRetentionMs } from "@holdfast/engine";

export const registerCases: readonly StoreCase[] = [
  {
    title: "a register value can only be changed by a writer that has seen its last revision",
    async run({ store, open }) {
      const [owner, key] = [anOwner(), "poller/telegram:1"];
      const other = await open();
      assertSameJson(await other.register.read(owner, key), null);
      const first = await store.register.put({ owner, key, value: "1", expect: 0 });
      assertSameJson(first.status, "put");
      const late = await other.register.put({ owner, key, value: "x", expect: 0 });
      assertSameJson([late.status, late.status === "moved" && late.row?.value], ["moved", "1"]);
      const missing = { owner, key: "nobody", value: "x", expect: 3 };
      assertSameJson(await other.register.put(missing), { status: "moved", row: null });
      const second = await other.register.put({ owner, key, value: "2", expect: 1 });
      const row = await store.register.read(owner, key);
      assertSameJson(second, { status: "put", row });
      assertSameJson([row?.value, row?.revision], ["2", 2]);
      assertSameJson(await store.register.read(anOwner(), key), null);
      await other.close();
    },
  },
  {
    title: "exactly one of several concurrent changes to a register value succeeds",
    async run({ store, open }) {
      const [owner, key] = [anOwner(), "poller/telegram:2"];
      const other = await open();
      for (const expect of [0, 1]) {
        const rivals = [store, other, store, other].map(({ register }, index) =>
          register.put({ owner, key, value: `${index}`, expect }),
        );
        const ended = (await Promise.all(rivals)).map(({ status }) => status).toSorted();
        assertSameJson(ended, ["moved", "moved", "moved", "put"]);
      }
      assertSameJson((await store.register.read(owner, key))?.revision, 2);
      await other.close();
    },
  },
  {
    title: "the register lists keys with a prefix, sorted, for one owner only",
    async run({ store }) {
      const owner = anOwner();
      for (const key of ["person/b", "person/a", "person_x", "poller/a"])
        await store.register.put({ owner, key, value: key, expect: 0 });
      const keys = async (prefix: string, limit = 9) =>
        (await store.register.list(owner, prefix, limit)).map(({ key }) => key);
      assertSameJson(await keys("person/"), ["person/a", "person/b"]);
      assertSameJson(await keys("person/", 1), ["person/a"]);
      assertSameJson((await keys("")).length, 4);
      assertSameJson(await store.register.list(anOwner(), "", 9), []);
    },
  },
];

const request = (owner = anOwner()) =>
  ({ owner, key: "a-key", hash: "h", session: null, answer: '{"text":"\\u0000 ü"}' }) as const;

export const requestCases: readonly StoreCase[] = [
  {
    title: "the first answer under a key wins, for every handle, and each owner has its own keys",
    async run({ store, open }) {
      const first = request();
      assertSameJson(await store.requests.find(first.owner, first.key), null);
      const kept = await store.requests.keep(first);
      const other = await open();
      const found = assertPresent(await other.requests.find(first.owner, first.key));
      assertSameJson(kept, { status: "kept", row: found });
      assertSameJson(found, { ...first, at: found.at });
      assertSameJson(await other.requests.keep({ ...first, hash: "other", answer: "{}" }), kept);
      assertSameJson(await other.requests.find(anOwner(), first.key), null);
      await other.close();
    },
  },
  {
    title: "an answer is kept for seven days; then its key is free and its row is pruned",
    async run({ store, advanceClock }) {
      const [one, two] = [request(), request()];
      await store.requests.keep(one);
      await store.requests.keep(two);
      await advanceClock(answerRetentionMs - 60_000);
      await store.prune(100_000);
      assertSameJson((await store.requests.find(one.owner, one.key))?.answer, one.answer);
      await advanceClock(120_000);
      assertSameJson(await store.requests.find(one.owner, one.key), null);
      await store.requests.keep({ ...one, answer: "2" });
      await store.prune(100_000);
      assertSameJson((await store.requests.find(one.owner, one.key))?.answer, "2");
      assertSameJson(await store.requests.find(two.owner, two.key), null);
      assertSameJson(await store.prune(100_000), { status: "pruned", rows: 0 });
      await advanceClock(-answerRetentionMs - 60_000);
    },
  },
  {
    title: "a purge deletes the answers about its session, and none is stored afterwards",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { owner, session } = chat;
      const aboutSession = { ...request(owner), session };
      await store.requests.keep(aboutSession);
      assertSameJson((await store.requests.find(owner, aboutSession.key))?.session, session);
      await chat.commit([anEvent("session.trashed", {})]);
      assertSameJson((await store.requests.find(owner, aboutSession.key))?.session, session);
      await store.purge(owner, session);
      assertSameJson(await store.requests.find(owner, aboutSession.key), null);
      await store.requests.keep({ ...aboutSession, key: "late" });
      assertSameJson(await store.requests.find(owner, "late"), null);
    },
  },
];
