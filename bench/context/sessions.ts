import { createCompactionLock, createLog, type Store } from "@holdfast/engine";
import { aHolder, anEvent } from "@holdfast/testing/fixtures/factories";
import { assertCommitted } from "@holdfast/testing/fixtures/open-session";
import { type Seq, type SessionId, sessionId } from "@holdfast/protocol";

import { openCorpus } from "../store/corpus.ts";
import { fillSession, benchOwner } from "../store/fill.ts";

const corpus = openCorpus(undefined);

/** A session with this many messages. */
export async function createConversation(store: Store, entries: number): Promise<SessionId> {
  return sessionId.parse(await fillSession(store, corpus, entries));
}

/** After the first turn. */
const firstCovered = 4 as Seq;

/** Replaces all but the first turn and the last `live` entries with a summary, like a compaction. */
export async function compactAway(
  store: Store,
  session: SessionId,
  { live, epoch }: { readonly live: number; readonly epoch: number },
): Promise<void> {
  const log = createLog(store);
  const row = await store.reads.session(benchOwner, session);
  if (row === null) throw new Error("There is no such session.");
  const lock = createCompactionLock(store.leases);
  const holder = aHolder();
  const held = await lock.acquire(session, holder);
  if (held === null) throw new Error("Somebody else compacts here.");
  const covers = { from: firstCovered, to: (row.head - live) as Seq };
  const summary = "They talked about many things. ".repeat(20);
  const event = anEvent("context.compacted", { epoch, covers, summary });
  const under = { lease: "compaction", fence: held.fence } as const;
  assertCommitted(await log.commit({ owner: benchOwner, session, events: [event], under }));
  await lock.release(session, holder);
}
