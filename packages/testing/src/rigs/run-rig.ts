import { createIds, type RunId, type StoredEvent } from "@holdfast/protocol";

import {
  createLog,
  type Log,
  type Clock,
  type Holder,
  type Model,
  type RunRow,
  type Store,
  type Tool,
  type Admission,
  admitMessage,
  type NewInput,
  Runner,
  type RunnerDeps,
} from "@holdfast/engine";
import { aHolder } from "../fixtures/factories.ts";
import { manualClock, nextTurn } from "../fakes/manual-clock.ts";
import { type TestSession, openTestSession, assertPresent } from "../fixtures/open-session.ts";

export interface RunRigOptions {
  readonly model: Model;
  readonly tools?: readonly Tool[];
  readonly holder?: Holder;
  readonly dead?: (holder: Holder) => boolean;
  readonly clock?: Clock;
  readonly deps?: Partial<RunnerDeps>;
}

/** A runner over a store, with everything around it in the test's hands. */
export interface RunRig {
  readonly log: Log;
  readonly runner: Runner;
  readonly chat: TestSession;
  say(text: string, rest?: Partial<NewInput>): Promise<Extract<Admission, { status: "accepted" }>>;
  /** Tells the runner of the session, and waits until it has nothing left to do. */
  work(): Promise<void>;
  run(id: RunId): Promise<RunRow>;
  entries(): Promise<readonly StoredEvent[]>;
}

const failOnError = (error: unknown): never => {
  throw error;
};

export function createRunner(store: Store, log: Log, options: RunRigOptions): Runner {
  const { model, tools = [], holder, dead = () => false, clock = manualClock() } = options;
  return new Runner({
    log,
    ids: createIds(),
    work: store.work,
    holder: () => holder ?? aHolder(),
    leaseMs: 30_000,
    clock,
    random: () => 0.5,
    limits: { steps: 20, timeMs: 3_600_000, modelTries: 3 },
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    modelFor: async () => ({ name: "scripted", model }),
    system: async () => "You are being tested.",
    liveness: { isDead: (each) => (dead(each) ? "dead" : "unknown") },
    policy: "resume",
    sweepMs: 1_000,
    maxRuns: 100,
    onError: failOnError,
    ...options.deps,
  });
}

export async function openRunRig(store: Store, options: RunRigOptions): Promise<RunRig> {
  const log = createLog(store);
  const ids = createIds();
  const chat = await openTestSession(store);
  const runner = createRunner(store, log, options);
  let said = 0;
  return {
    log,
    runner,
    chat,
    async say(text, rest = {}) {
      said += 1;
      const { owner, session } = chat;
      const input = { owner, session, clientId: `message-${said}`, text, ...rest };
      const admission = await admitMessage(log, ids, input);
      if (admission.status !== "accepted") throw new Error(JSON.stringify(admission));
      return admission;
    },
    async work() {
      runner.notify(chat.owner, chat.session);
      await runner.idle();
      await nextTurn();
    },
    run: async (id) => assertPresent(await store.reads.run(chat.owner, id)),
    entries: () => chat.entries(),
  };
}
