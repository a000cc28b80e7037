import { createIds } from "@holdfast/protocol";

import {
  createLog,
  type Log,
  MemoryCommitter,
  type MemoryCommitterDeps,
  type MemoryAnswer,
  type MemorySegment,
  type MemoryHandle,
  type MemoryOwner,
  type Recollection,
  type Store,
} from "@holdfast/engine";
import { aHolder } from "../fixtures/factories.ts";
import { manualClock } from "../fakes/manual-clock.ts";
import { createGate } from "./run-rig.ts";

type CommitBehaviour = (batch: MemorySegment, signal: AbortSignal) => Promise<MemoryAnswer>;

const committed: MemoryAnswer = { status: "committed" };

/** A memory provider controlled by the test: it records its input and does what it is told. */
export class RecordingMemory implements MemoryHandle {
  readonly owner: MemoryOwner;
  /** One per call. */
  readonly batches: MemorySegment[] = [];
  recollections: readonly Recollection[] = [];
  closed = 0;
  #next: CommitBehaviour[] = [];

  constructor(configuration: string, provider = "noted") {
    this.owner = { provider, configuration };
  }

  /** The texts of the turns that it was given, call by call. */
  get spokenTexts(): string[][] {
    return this.batches.map(({ turns }) => turns.map(({ messages }) => messages[0]?.text ?? ""));
  }

  /** How to answer the next call; by default it commits. */
  answers(behaviour: CommitBehaviour): void {
    this.#next.push(behaviour);
  }

  fails(code = "provider_down"): void {
    this.answers(async () => ({ status: "failed", code, message: "It is away." }));
  }

  /** The next call waits until the test opens it. */
  waits(answer: MemoryAnswer = committed): {
    readonly asked: Promise<void>;
    readonly open: () => void;
  } {
    const [asked, answered] = [createGate(), createGate()];
    this.answers(async () => {
      asked.open();
      await answered.promise;
      return answer;
    });
    return { asked: asked.promise, open: answered.open };
  }

  async commit(batch: MemorySegment, signal: AbortSignal): Promise<MemoryAnswer> {
    this.batches.push(batch);
    return (await this.#next.shift()?.(batch, signal)) ?? committed;
  }

  async recall(): Promise<readonly Recollection[]> {
    return this.recollections;
  }

  async close(): Promise<void> {
    this.closed += 1;
  }
}

export interface MemoryRigOptions extends Partial<MemoryCommitterDeps> {
  readonly log?: Log;
}

/** A committer over a store with the test's providers. */
export function openMemoryRig(store: Store, rest: MemoryRigOptions = {}) {
  const clock = manualClock();
  const reachable = new Map<string, MemoryHandle>();
  const state: { current: MemoryOwner | null } = { current: null };
  const committer = new MemoryCommitter({
    log: createLog(store),
    ids: createIds(),
    clock,
    holder: () => aHolder({ agent: "memory" }),
    leaseMs: 30_000,
    providerTimeoutMs: 60_000,
    idleMs: 300_000,
    sweepMs: 60_000,
    providers: {
      current: () => state.current,
      open: async ({ configuration }) => reachable.get(configuration) ?? null,
    },
    onError: (error) => {
      throw error;
    },
    ...rest,
  });
  return {
    committer,
    clock,
    reachable,
    remembers: () => state.current,
    /** From now on this provider has to remember the turns. */
    turnTo: (handle: MemoryHandle | null) => void (state.current = handle?.owner ?? null),
  };
}
