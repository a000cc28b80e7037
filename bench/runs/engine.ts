import { uncachedAgents } from "@holdfast/testing/fakes/uncached-agents";
import {
  admitMessage,
  createLog,
  type Log,
  Runner,
  type Store,
  systemClock,
} from "@holdfast/engine";
import { ids, type OwnerId, ownerId, type Seq, type SessionId } from "@holdfast/protocol";
import { createLiveness, currentHolder } from "@holdfast/store/identity";

import { openStore, type StoreAddress } from "../store/bench-database.ts";
import { CommitMeter } from "./meters.ts";
import { PacedModel } from "./paced-model.ts";

export const deltasPerSecond = 50;
export const benchOwner: OwnerId = ownerId.parse("someone");
const leaseMs = 30_000;
const maxRuns = 1_000;
/** A run that is taken over may be old: prepared stores are kept. */
const maxRunMs = 10 * 365 * 24 * 3_600_000;

/** The engine as the host sets it up, with a scripted model and a meter in front of the store. */
export interface Engine {
  readonly store: Store;
  readonly log: Log;
  readonly runner: Runner;
  readonly model: PacedModel;
  readonly meter: CommitMeter;
}

export async function openEngine(address: StoreAddress): Promise<Engine> {
  const meter = new CommitMeter(await openStore(address));
  const { store } = meter;
  const log = createLog(store);
  const model = new PacedModel(deltasPerSecond);
  const runner = new Runner({
    log,
    ids,
    clock: systemClock,
    random: Math.random,
    work: store.work,
    liveness: createLiveness(),
    holder: () => currentHolder("runner"),
    leaseMs,
    policy: "resume",
    sweepMs: leaseMs / 6,
    maxRuns,
    limits: { steps: 100, timeMs: maxRunMs, modelTries: 5 },
    agents: uncachedAgents({
      tools: new Map(),
      modelFor: async () => ({ name: "paced", model }),
      system: async () => "You are being measured.",
    }),
    onError(error) {
      throw error;
    },
  });
  return { store, log, runner, model, meter };
}

const atOnce = 200;

export async function createSessions({ log }: Engine, count: number): Promise<SessionId[]> {
  const sessions: SessionId[] = [];
  while (sessions.length < count) {
    const missing = Math.min(atOnce, count - sessions.length);
    const made = await Promise.all(
      Array.from({ length: missing }, () => log.createSession({ owner: benchOwner })),
    );
    for (const { session, result } of made) {
      if (result.status !== "committed") throw new Error(`A session: ${JSON.stringify(result)}`);
      sessions.push(session);
    }
  }
  return sessions;
}

let said = 0;

export async function admit({ log }: Engine, session: SessionId): Promise<void> {
  said += 1;
  const input = { owner: benchOwner, session, clientId: `message-${said}`, text: "Tell me a lot." };
  const admission = await admitMessage(log, ids, input);
  if (admission.status !== "accepted") throw new Error(`A message: ${JSON.stringify(admission)}`);
}

/** Starts a run in each of the sessions, and waits until the model is called for all of them. */
export async function startRuns(engine: Engine, sessions: readonly SessionId[]): Promise<void> {
  const { model, runner } = engine;
  const before = model.asked;
  for (let done = 0; done < sessions.length; done += atOnce) {
    const batch = sessions.slice(done, done + atOnce);
    await Promise.all(batch.map((session) => admit(engine, session)));
    for (const session of batch) runner.notify(benchOwner, session);
  }
  await until(() => model.asked - before >= sessions.length);
}

/** Follows a session like a page, and reports each delta's text. */
export async function follow(
  { log }: Engine,
  session: SessionId,
  after: Seq,
  onText: (text: string) => void,
): Promise<void> {
  for await (const item of log.tail(benchOwner, session, after)) {
    if (item.kind !== "events") continue;
    for (const { type, data } of item.events) {
      const { text } = data;
      if (type === "message.delta" && typeof text === "string") onText(text);
    }
  }
}

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await systemClock.sleep(2);
}
