import type { Store } from "@holdfast/engine";
import { aDelta, aMessageId } from "@holdfast/testing/fixtures/factories";
import { type TestSession, openTestSession } from "@holdfast/testing/fixtures/open-session";
import type { NewEvent } from "@holdfast/protocol";

import { fullLogBytes } from "./bare-sqlite.ts";

/** A session with a run that writes its output as it comes. */
export interface Stream {
  delta(text: string): NewEvent;
  commit(events: readonly NewEvent[], pace?: "now" | "tick"): Promise<unknown>;
}

/** Grows a store's log to its full length, as after some time in use. */
export async function growLog(store: Store): Promise<void> {
  if (store.kind !== "sqlite") return;
  const stream = await openStream(await openTestSession(store));
  const part = "x".repeat(512 * 1024);
  for (let bytes = 0; bytes < fullLogBytes; bytes += part.length)
    await stream.commit([stream.delta(part)]);
}

export function openStreams(store: Store, count: number): Promise<Stream[]> {
  return Promise.all(
    Array.from({ length: count }, async () => openStream(await openTestSession(store))),
  );
}

export async function openStream(session: TestSession): Promise<Stream> {
  const { runId, under } = await session.startRun();
  const messageId = aMessageId();
  return {
    delta: (text) => aDelta(runId, text, messageId),
    commit: (events, pace = "now") => session.commit(events, { under, pace }),
  };
}
