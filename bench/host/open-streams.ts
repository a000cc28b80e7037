import type { Client } from "@holdfast/client";
import type { SessionId } from "@holdfast/protocol";

import { started, startTask } from "../harness/task.ts";
import type { Streams, StreamTask } from "./stream-process.ts";

export const howDeliveryIsTimed =
  "The commit's time is the one in the event, in whole milliseconds of the store's clock.";

/** The rehearsal model says two words at a time, on average: 50 deltas a second. */
const wordsPerSecond = 100;

export interface OpenStreams extends AsyncDisposable {
  /** What they saw, when their time is over. */
  readonly seen: Promise<Streams>;
}

/** Opens pages in a process of their own, and comes back when all are there. */
export async function openStreams(task: StreamTask): Promise<OpenStreams> {
  const child = startTask(new URL("./stream-process.ts", import.meta.url), task);
  const ready = started(child, () => undefined);
  await ready.answer;
  // The first thing that it says is that all have come; the second is what they saw.
  const { answer } = started(child, (message) => message as Streams);
  return { seen: answer, [Symbol.asyncDispose]: () => ready.kill() };
}

export async function createSession(client: Client): Promise<SessionId> {
  const created = await client.createSession({ body: {} });
  if (!created.ok) throw new Error(`A session: ${created.error.code}`);
  return created.value.session.id;
}

/** Asks for an answer that is written for twice as long as is measured. */
export async function askForLongAnswer(client: Client, id: SessionId, ms: number): Promise<void> {
  const words = Math.ceil(((ms * 2) / 1_000) * wordsPerSecond);
  const text = `{words:${words}} {rate:${wordsPerSecond}}`;
  const said = await client.sendMessage({ params: { id }, body: { clientId: "first", text } });
  if (!said.ok) throw new Error(`A message: ${said.error.code}`);
}
