import type { BlobId, LaneKey, SessionId } from "@holdfast/protocol";

import type { Audit, Derived, RawEvent, Store } from "../ports/index.ts";
import {
  aMark,
  aChatLane,
  aChunk,
  anApproval,
  aDelta,
  aFile,
  aForeignEvent,
  anEvent,
  anInbound,
  anInput,
  aRunState,
  aSegment,
  aRunId,
  aSettledMessage,
  aUsage,
  aUserMessage,
} from "./factories.ts";
import { type OpenSession, openSession, present } from "./open-session.ts";

/**
 * A session with something of everything: a run with settled, pruned and open output, usage, a lane and a blob, a
 * turn that a memory provider has failed to commit, and an answer that is owed to a chat.
 */
export async function openFullSession(
  store: Store,
  lane: LaneKey,
): Promise<{ readonly chat: OpenSession; readonly blob: BlobId }> {
  const chat = await openSession(store, { title: "All of it" });
  const stored = await store.putBlob(chat.owner, new TextEncoder().encode("content"), "text/plain");
  const blob = present(stored.status === "stored" ? stored.id : null);
  await chat.commit([anEvent("lane.bound", { lane }), anInput({ attachments: [aFile(blob)] })]);
  const { fence } = await chat.lease("run");
  const earlier = aRunId();
  const turn = [aRunState(earlier, "claimed"), aUserMessage("Before")];
  const completed = [...turn, aRunState(earlier, "completed"), aMark(earlier)];
  const { last } = await chat.commit(completed, { under: { lease: "run", fence } });
  await chat.commit([aSegment("tried", last), aSegment("failed", last)]);
  const inbound = anInbound();
  const asked = anInput({ lane: aChatLane(), inbound });
  await chat.commit([asked, aChunk({ delivery: inbound.delivery, chunk: 1, from: 3, to: 9 })]);
  await store.leases.release({ kind: "run", session: chat.session, fence });
  const { runId, under } = await chat.startRun();
  const first = await chat.commit([aDelta(runId), aDelta(runId)], { under });
  await chat.commit([aUsage(runId), aForeignEvent(), anApproval(runId)], { under });
  const more = await chat.commit([aDelta(runId)], { under });
  const ranges = [
    [first.first, first.last],
    [more.first, more.last],
  ] as const;
  await chat.commit([aSettledMessage(runId, "Done.", ranges)], { under });
  await store.prune(2);
  await chat.commit([aDelta(runId), aDelta(runId)], { under });
  return { chat, blob };
}

/** The audit of a store in which one session's log reads differently. */
export function withEvents(
  audit: Audit,
  of: SessionId,
  change: (events: RawEvent[]) => RawEvent[],
): Audit {
  return {
    ...audit,
    async *events(session) {
      const events: RawEvent[] = [];
      for await (const event of audit.events(session)) events.push(event);
      yield* session === of ? change(events) : events;
    },
  };
}

/** The audit of a store in which one session's derived rows read differently, until they are replaced. */
export function withDerived(
  audit: Audit,
  of: SessionId,
  change: (derived: Derived) => Derived,
): Audit {
  let isRepaired = false;
  return {
    ...audit,
    async derived(session) {
      const derived = await audit.derived(session);
      return derived && session === of && !isRepaired ? change(derived) : derived;
    },
    async replaceDerived(derived) {
      isRepaired ||= derived.session.id === of;
      return audit.replaceDerived(derived);
    },
  };
}
