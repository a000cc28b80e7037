import type { Client } from "@holdfast/client";
import type { SessionId } from "@holdfast/protocol";

import { started, startTask } from "../harness/task.ts";
import type { Streams, StreamTask } from "./stream-process.ts";

export const howDeliveryIsTimed =
  "The commit's time is the one in the event, in whole milliseconds of the store's clock.";

/** The rehearsal model emits two words at a time, on average: 50 deltas a second. */
const wordsPerSecond = 100;

export interface OpenStreams extends AsyncDisposable {
  /** What they saw when their time is up. */
  readonly seen: Promise<Streams>;
}

/** Opens pages in their own process, and resolves when all are connected. */
export async function openStreams(task: StreamTask): Promise<OpenStreams> {
  const child = startTask(new URL("./stream-process.ts", import.meta.url), task);
  const ready = started(child, () => undefined);
  await ready.answer;
  // Its first message says that all are connected; the second is what they saw.
  const { answer } = started(child, (message) => message as Streams);
  return { seen: answer, [Symbol.asyncDispose]: () => ready.kill() };
}

export async function createSession(client: Client): Promise<SessionId> {
  const created = await client.createSession({ body: {} });
  if (!created.ok) throw new Error(`A session: ${created.error.code}`);
  return created.value.session.id;
}

/** Requests an answer that streams for twice as long as is measured. */
export async function askForLongAnswer(client: Client, id: SessionId, ms: number): Promise<void> {
  const words = Math.ceil(((ms * 2) / 1_000) * wordsPerSecond);
  const text = `{words:${words}} {rate:${wordsPerSecond}}`;
  const sent = await client.sendMessage({ params: { id }, body: { clientId: "first", text } });
  if (!sent.ok) throw new Error(`A message: ${sent.error.code}`);
}
