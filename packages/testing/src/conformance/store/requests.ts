import { answerRetentionMs } from "@holdfast/engine";
import { anEvent, anOwner } from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { openTestSession, assertPresent, assertSameJson } from "../../fixtures/open-session.ts";

const request = (owner = anOwner()) =>
  ({ owner, key: "a-key", hash: "h", session: null, answer: '{"text":"\\u0000 ü"}' }) as const;

export const requestCases: readonly StoreCase[] = [
  {
    title:
      "the first answer under a key stands, also for another handle, and each owner has keys of its own",
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
    title: "an answer is kept for seven days, then its key is free and its row is pruned",
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
    title:
      "a purge takes along what was answered about its session, and nothing is kept about it afterwards",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { owner, session } = chat;
      const about = { ...request(owner), session };
      await store.requests.keep(about);
      assertSameJson((await store.requests.find(owner, about.key))?.session, session);
      await chat.commit([anEvent("session.trashed", {})]);
      assertSameJson((await store.requests.find(owner, about.key))?.session, session);
      await store.purge(owner, session);
      assertSameJson(await store.requests.find(owner, about.key), null);
      await store.requests.keep({ ...about, key: "late" });
      assertSameJson(await store.requests.find(owner, "late"), null);
    },
  },
];
