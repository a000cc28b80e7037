import { ids, type SessionId } from "@holdfast/protocol";

import {
  aDelta,
  anEvent,
  aLane,
  anInput,
  aSettledMessage,
  aUsage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { openTestSession, assertPresent, assertSameJson } from "../../fixtures/open-session.ts";

export const auditCases: readonly StoreCase[] = [
  {
    title: "an audit returns each row of a log once, in order, with its place",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      await chat.commit([aDelta(runId, "a")], { under });
      await chat.commit([aSettledMessage(runId, "a", [[5, 5]])], { under });
      await chat.commit([aDelta(runId, "b")], { under });
      const rows = [];
      for await (const row of store.audit.events(chat.session)) rows.push(row);
      assertSameJson(
        rows.map((row) => [row.seq, row.place]),
        [
          [1, "log"],
          [2, "log"],
          [3, "log"],
          [4, "log"],
          [5, "pruned"],
          [6, "log"],
          [7, "delta"],
        ],
      );
      const readable = rows.filter((row) => row.place !== "pruned").map((row) => row.event);
      assertSameJson(readable, await chat.events());
    },
  },
  {
    title: "derived rows can be read and replaced, unless the session has moved meanwhile",
    async run({ store }) {
      const chat = await openTestSession(store, { title: "right", tags: ["a"] });
      const lane = aLane();
      const { input } = await chat.commit([
        anInput(),
        anEvent("lane.bound", { lane }),
        aUsage(undefined),
      ]);
      const derived = assertPresent(await store.audit.derived(chat.session));
      assertSameJson(derived.session, await chat.row());
      assertSameJson(
        [derived.runs.length, derived.inputs.length, derived.lanes.length, derived.usage.length],
        [1, 1, 1, 1],
      );
      assertSameJson(derived.inputs[0]?.messageId, input?.messageId);
      const wrong = {
        ...derived,
        session: { ...derived.session, title: "wrong", tags: ["b"] },
        usage: [],
      };
      assertSameJson(await store.audit.replaceDerived(wrong), "replaced");
      assertSameJson((await chat.row()).title, "wrong");
      assertSameJson(
        (await store.reads.sessions(chat.owner, { limit: 5, tag: "b" })).sessions.length,
        1,
      );
      assertSameJson((await store.reads.usage(chat.owner, {})).calls, 0);
      assertSameJson(await store.audit.replaceDerived(derived), "replaced");
      assertSameJson(await chat.row(), derived.session);
      assertSameJson((await store.reads.usage(chat.owner, {})).calls, 1);
      await chat.commit([anInput()]);
      assertSameJson(await store.audit.replaceDerived(wrong), "moved");
      assertSameJson((await chat.row()).title, "right");
      assertSameJson(await store.audit.derived(ids.make("session")), null);
    },
  },
  {
    title: "blob references can be corrected",
    async run({ store }) {
      const chat = await openTestSession(store);
      const put = await store.putBlob(
        chat.owner,
        new TextEncoder().encode(chat.owner),
        "text/plain",
      );
      if (put.status !== "stored") throw new Error(put.message);
      const refs = async () => {
        for await (const row of store.audit.blobs()) if (row.owner === chat.owner) return row.refs;
        return undefined;
      };
      await store.audit.replaceBlobRefs(new Map([[put.id, 3]]), chat.owner);
      assertSameJson(await refs(), 3);
      await store.audit.replaceBlobRefs(new Map(), chat.owner);
      assertSameJson(await refs(), 0);
    },
  },
  {
    title: "an audit lists the sessions and leases of all owners, and finds the store sound",
    async run({ store }) {
      const [a, b] = [await openTestSession(store), await openTestSession(store)];
      const lease = await a.lease("memory");
      const sessions: SessionId[] = [];
      for await (const row of store.audit.sessions()) sessions.push(row.id);
      assertSameJson(
        [a, b].every((chat) => sessions.includes(chat.session)),
        true,
      );
      assertSameJson(new Set(sessions).size, sessions.length);
      const leases = [];
      for await (const row of store.audit.leases()) if (row.session === a.session) leases.push(row);
      assertSameJson(leases, [lease]);
      for await (const orphan of store.audit.orphans()) assertSameJson(orphan, "none");
      assertSameJson(await store.audit.integrity(), []);
    },
  },
];
