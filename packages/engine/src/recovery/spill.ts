import {
  type NewEvent,
  type SessionId,
  type SpillMark,
  type StoredEvent,
  decodeEvent,
  type EventId,
  type RunId,
  backoffMs,
  newEvent,
} from "@holdfast/protocol";
import type { Clock } from "../ports/clock.ts";
import type {
  SpillStore,
  SpillDamage,
  SpillEnd,
  SpillFile,
  SpillResult,
  SpillReadResult,
  SpillRef,
} from "../ports/spill.ts";
import type { ModelFailure } from "../ports/model.ts";
import type { ClaimDeps } from "../run/claim.ts";
import type { RunHandle } from "../run/run-handle.ts";

/**
 * Where a run's output currently goes, for people who watch: it is not shown until it is in the store.
 * - `local`: into a file here.
 * - `stopped`: nowhere; the model was stopped.
 * - `left`: nowhere any more; the file is ingested when the run is recovered.
 * - `restored`: into the store again.
 */
export type SpillState = "local" | "stopped" | "left" | "restored";

export interface SpillDeps {
  readonly clock: Clock;
  readonly spills?: SpillStore | undefined;
  readonly onSpillState?: ((session: SessionId, storing: SpillState) => void) | undefined;
}

/** What a runner records about its spill before a model or a tool starts. */
export function spillMarkFor(
  spills: SpillStore | undefined,
  run: RunHandle,
): { readonly spill?: SpillMark } {
  if (spills === undefined) return {};
  return { spill: { place: spills.place, fence: run.lease.fence } };
}

/**
 * A runner that stops says that it leaves no spill, so that the next one, perhaps in another home, need not wait for
 * one. If the store is away it stays unsaid.
 */
export async function recordEmptySpill(
  { log, ids, spills }: Pick<ClaimDeps, "log" | "ids"> & Pick<SpillDeps, "spills">,
  { owner, session, runId, lease: { kind, fence } }: RunHandle,
): Promise<void> {
  if (spills === undefined) return;
  const { place } = spills;
  if ((await spills.read({ session, runId, fence, place })).status !== "known_empty") return;
  const released = { emptySpill: { place, fence } };
  const events = [newEvent(ids.make("event"), "run.released", released, runId)];
  const under = { lease: kind, fence };
  await log.commit({ owner, session, events, under, touch: "quiet" }, { retryForMs: 0 });
}

const restoreBackoff = { firstMs: 100, longestMs: 1_000 };

/** The outcome of a commit: stored, the run is lost, or the store is away. */
export type WriteAttempt = readonly StoredEvent[] | null | "away";

/**
 * A run's journal while the store is away. Everything goes into a file, in order, and is offered to the store again
 * until it takes it or the run is lost. Event ids identify commits, so one that was stored after all is not written
 * twice.
 */
export class SpillWriter {
  readonly #deps: SpillDeps;
  readonly #run: RunHandle;
  readonly #onStored: (events: readonly StoredEvent[]) => void;
  readonly #unstored: (readonly NewEvent[])[] = [];
  #restoring: Promise<void> | undefined;
  #file: SpillFile | undefined;
  /** Serialises file operations. */
  #fileWork: Promise<void> = Promise.resolve();
  #stopped: ModelFailure | null = null;
  /**
   * The lost run has been released: nobody would close a file opened now, and it would replace the one that was left.
   */
  #isLeft = false;

  constructor(deps: SpillDeps, run: RunHandle, onStored: (events: readonly StoredEvent[]) => void) {
    this.#deps = deps;
    this.#run = run;
    this.#onStored = onStored;
  }

  get active(): boolean {
    return this.#restoring !== undefined;
  }

  /** Set when even the file takes no more: the model has to stop. */
  get stopped(): ModelFailure | null {
    return this.#stopped;
  }

  /** `attempt`: the commit of these events, if it is still under way. Resolves when they are in the file. */
  async add(events: readonly NewEvent[], attempt?: Promise<WriteAttempt>): Promise<void> {
    this.#unstored.push(events);
    if (this.#restoring === undefined) {
      this.#deps.onSpillState?.(this.#run.session, "local");
      this.#restoring = this.#restore(attempt);
      // `settled` reports the error.
      this.#restoring.catch(() => {});
    }
    await this.#enqueueFileWork((file) => file.append(events));
  }

  /** Records in the file how the stream ended. */
  async seal(end: SpillEnd): Promise<void> {
    if (this.active) await this.#enqueueFileWork((file) => file.seal(end));
  }

  /** Resolves when the store has everything, or the run is lost. */
  async settled(): Promise<void> {
    await this.#restoring;
    await this.#afterFileWork(async () => {
      if (this.#run.lost === null) return;
      this.#isLeft = true;
      if (this.#file === undefined) return;
      await this.#file.close();
      this.#file = undefined;
      this.#deps.onSpillState?.(this.#run.session, "left");
    });
  }

  async #restore(first: Promise<WriteAttempt> | undefined): Promise<void> {
    let under = first;
    for (let tries = 0; this.#run.lost === null; tries += 1) {
      const batch = this.#unstored[0];
      if (batch === undefined) return this.#discardFile();
      const result = await this.#unlessLost(under ?? this.#run.tryWrite(batch));
      under = undefined;
      if (result === null) return;
      if (result === "away") {
        await this.#deps.clock.sleep(backoffMs(restoreBackoff, tries), this.#run.lossSignal);
        continue;
      }
      this.#unstored.shift();
      this.#onStored(result);
      tries = 0;
    }
  }

  /** A store that never answers must not hold up a lost run. */
  #unlessLost(attempt: Promise<WriteAttempt>): Promise<WriteAttempt> {
    const { lossSignal } = this.#run;
    const { promise, resolve } = Promise.withResolvers<null>();
    const lost = (): void => resolve(null);
    lossSignal.addEventListener("abort", lost, { once: true });
    if (lossSignal.aborted) lost();
    return Promise.race([attempt, promise]).finally(() =>
      lossSignal.removeEventListener("abort", lost),
    );
  }

  /** From here on output goes straight to the store, and a later spill starts a new file. */
  #discardFile(): void {
    this.#restoring = undefined;
    void this.#afterFileWork(async () => {
      await this.#file?.discard();
      this.#file = undefined;
    });
    this.#deps.onSpillState?.(this.#run.session, "restored");
  }

  #enqueueFileWork(write: (file: SpillFile) => Promise<SpillResult>): Promise<void> {
    return this.#afterFileWork(async () => {
      // The store had it before the file did.
      if (!this.active || this.#stopped !== null || this.#isLeft) return;
      const file = await this.#openFile();
      const result = "append" in file ? await write(file) : file;
      if (result.status === "failed") this.#stop(result.message);
    });
  }

  #afterFileWork(work: () => Promise<void>): Promise<void> {
    this.#fileWork = this.#fileWork.then(work);
    return this.#fileWork;
  }

  async #openFile(): Promise<SpillFile | Extract<SpillResult, { status: "failed" }>> {
    const { spills } = this.#deps;
    if (this.#file !== undefined) return this.#file;
    if (spills === undefined) throw new Error("Spilling needs a spill store.");
    const { owner, session, runId, lease, ids } = this.#run;
    const { place } = spills;
    const ingestId = ids.make("event");
    const opened = await spills.begin({
      owner,
      session,
      runId,
      fence: lease.fence,
      place,
      ingestId,
    });
    if (opened.status === "failed") return opened;
    this.#file = opened.file;
    return opened.file;
  }

  #stop(reason: string): void {
    this.#stopped = {
      class: "fatal",
      code: "nowhere_to_store",
      message: `Neither the database nor the disk here could take the answer (${reason}). It was stopped; what came before is above.`,
    };
    this.#deps.onSpillState?.(this.#run.session, "stopped");
  }
}

/** What a run's last runner left outside the store. `ref` is `null` if it cannot have left anything. */
export interface FoundSpill {
  readonly ref: SpillRef | null;
  readonly answer: SpillReadResult;
  /** The events the store does not have yet. */
  readonly events: readonly NewEvent[];
  readonly end: SpillEnd | null;
  /** The stream ended by itself with nothing missing: its message is complete. */
  readonly isWhole: boolean;
  /** There is a message, in the store or in the spill. */
  readonly hasMessage: boolean;
}

const noSpill: FoundSpill = {
  ref: null,
  answer: { status: "known_empty" },
  events: [],
  end: null,
  isWhole: false,
  hasMessage: false,
};

/** Looks where the runner of this journal announced that it would spill. */
export async function findSpill(
  spills: SpillStore | undefined,
  run: { readonly session: SessionId; readonly runId: RunId },
  journal: readonly StoredEvent[],
): Promise<FoundSpill> {
  const mark = lastSpillMark(journal);
  if (mark === null) return noSpill;
  const ref: SpillRef = { ...run, place: mark.place, fence: mark.fence };
  if (isReleasedEmpty(journal, mark)) return { ...noSpill, ref };
  // Without spills of our own there is nowhere to look, and another home may have it.
  if (spills === undefined) return { ...noSpill, ref, answer: { status: "arriving" } };
  const answer = await spills.read(ref);
  if (answer.status !== "output") return { ...noSpill, ref, answer };
  const { end, damage } = answer;
  return {
    ref,
    answer,
    events: eventsAfter(answer.events, lastOutputId(journal)),
    end,
    isWhole: end?.how === "done" && !damage.some(losesRecord),
    hasMessage: [...journal, ...answer.events].some(({ type }) => type === "message.delta"),
  };
}

/** A repeated record is merely redundant: nothing is missing. */
export function losesRecord({ kind }: SpillDamage): boolean {
  return kind !== "repeated";
}

/** A commit whose answer was lost may be stored: the store has a prefix of the spill, up to this event. */
export function eventsAfter(
  events: readonly NewEvent[],
  upTo: EventId | undefined,
): readonly NewEvent[] {
  return events.slice(events.findIndex((event) => event.id === upTo) + 1);
}

const outputTypes: ReadonlySet<string> = new Set(["message.delta", "tool.output", "tool.ended"]);

export function lastOutputId(journal: readonly StoredEvent[]): EventId | undefined {
  return journal.findLast((event) => outputTypes.has(event.type))?.id;
}

const markedTypes: ReadonlySet<string> = new Set(["step.started", "tool.started"]);

function lastSpillMark(journal: readonly StoredEvent[]): SpillMark | null {
  let spill: SpillMark | undefined;
  // A journal may be long and is nearly all output: skip events that cannot carry a mark.
  journal.findLast((stored) => {
    if (!markedTypes.has(stored.type)) return false;
    const decoded = decodeEvent(stored);
    if (decoded.kind !== "known") return false;
    const { event } = decoded;
    if (event.type === "step.started" || event.type === "tool.started") ({ spill } = event.data);
    return spill !== undefined;
  });
  return spill ?? null;
}

/** The runner said when it gave up the run that its spill has no file. */
function isReleasedEmpty(journal: readonly StoredEvent[], { place, fence }: SpillMark): boolean {
  const released = journal.findLast(({ type }) => type === "run.released");
  const decoded = released && decodeEvent(released);
  if (decoded?.kind !== "known" || decoded.event.type !== "run.released") return false;
  const { emptySpill } = decoded.event.data;
  return emptySpill.place === place && emptySpill.fence === fence;
}
