import {
  type NewEvent,
  type SessionId,
  type SpillMark,
  type StoredEvent,
  decodeEvent,
  type EventId,
  type RunId,
} from "@holdfast/protocol";
import type { Clock } from "../ports/clock.ts";
import type {
  SpillStore,
  SpillEnd,
  SpillFile,
  SpillResult,
  SpillReadResult,
  SpillRef,
} from "../ports/spill.ts";
import type { ModelFailure } from "../ports/model.ts";
import type { RunHandle } from "../run/run-handle.ts";

/**
 * Where a run's output goes at the moment, for people who watch: it is not shown before it stands in the store.
 * - `local`: into a file here.
 * - `stopped`: nowhere; the model was stopped.
 * - `left`: nowhere any more; what is in the file comes back when the run is recovered.
 * - `restored`: into the store again.
 */
export type SpillState = "local" | "stopped" | "left" | "restored";

export interface SpillDeps {
  readonly clock: Clock;
  readonly spills?: SpillStore | undefined;
  readonly onSpillState?: ((session: SessionId, storing: SpillState) => void) | undefined;
}

/** What a runner says of itself before it lets a model or a tool begin. */
export function spillMarkFor(
  journals: SpillStore | undefined,
  run: RunHandle,
): { readonly spill?: SpillMark } {
  if (journals === undefined) return {};
  return { spill: { place: journals.place, fence: run.lease.fence } };
}

const firstPauseMs = 100;
const maxPauseMs = 1_000;

/** How a commit that was tried ended: stored, the run is lost, or the store is away. */
export type WriteAttempt = readonly StoredEvent[] | null | "away";

/**
 * A run's journal while the store is away. Everything goes into a file, in order, and is offered to the store again until it
 * takes it or the run is lost. Commits are named by their events, so one that stood after all is not written twice.
 */
export class SpillWriter {
  readonly #deps: SpillDeps;
  readonly #run: RunHandle;
  readonly #onStored: (events: readonly StoredEvent[]) => void;
  readonly #kept: (readonly NewEvent[])[] = [];
  #bringingBack: Promise<void> | undefined;
  #file: SpillFile | undefined;
  /** One thing after the other. */
  #fileWork: Promise<void> = Promise.resolve();
  #stopped: ModelFailure | null = null;
  /** Whoever waited for the end of a lost run has gone: a file that is opened now is closed by nobody, and replaces what was left. */
  #isLeft = false;

  constructor(deps: SpillDeps, run: RunHandle, onStored: (events: readonly StoredEvent[]) => void) {
    this.#deps = deps;
    this.#run = run;
    this.#onStored = onStored;
  }

  get active(): boolean {
    return this.#bringingBack !== undefined;
  }

  /** Set when not even the file takes any more: then the model has to stop. */
  get stopped(): ModelFailure | null {
    return this.#stopped;
  }

  /** `attempt`: the commit of these events, if it is still under way. Resolves when they are in the file. */
  async add(events: readonly NewEvent[], attempt?: Promise<WriteAttempt>): Promise<void> {
    this.#kept.push(events);
    if (this.#bringingBack === undefined) {
      this.#deps.onSpillState?.(this.#run.session, "local");
      this.#bringingBack = this.#bringBack(attempt);
      // `settled` hears of what went wrong.
      this.#bringingBack.catch(() => {});
    }
    await this.#withFile((file) => file.append(events));
  }

  /** The stream has ended; the file says how. */
  async seal(end: SpillEnd): Promise<void> {
    if (this.active) await this.#withFile((file) => file.seal(end));
  }

  /** Resolves when the store has everything, or the run is lost. */
  async settled(): Promise<void> {
    await this.#bringingBack;
    await this.#afterFileWork(async () => {
      if (this.#run.lost === null) return;
      this.#isLeft = true;
      if (this.#file === undefined) return;
      await this.#file.close();
      this.#file = undefined;
      this.#deps.onSpillState?.(this.#run.session, "left");
    });
  }

  async #bringBack(first: Promise<WriteAttempt> | undefined): Promise<void> {
    let under = first;
    for (let tries = 0; this.#run.lost === null; tries += 1) {
      const batch = this.#kept[0];
      if (batch === undefined) return this.#leaveFile();
      const result = await this.#orLost(under ?? this.#run.tryWrite(batch));
      under = undefined;
      if (result === null) return;
      if (result === "away") {
        const pause = Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(tries, 10));
        await this.#deps.clock.sleep(pause, this.#run.lossSignal);
        continue;
      }
      this.#kept.shift();
      this.#onStored(result);
      tries = 0;
    }
  }

  /** A store that never answers must not keep a lost run. */
  #orLost(attempt: Promise<WriteAttempt>): Promise<WriteAttempt> {
    const { lossSignal } = this.#run;
    const { promise, resolve } = Promise.withResolvers<null>();
    const lost = (): void => resolve(null);
    lossSignal.addEventListener("abort", lost, { once: true });
    if (lossSignal.aborted) lost();
    return Promise.race([attempt, promise]).finally(() =>
      lossSignal.removeEventListener("abort", lost),
    );
  }

  /** What comes from here on goes to the store at once, and a later spill begins anew. */
  #leaveFile(): void {
    this.#bringingBack = undefined;
    void this.#afterFileWork(async () => {
      await this.#file?.discard();
      this.#file = undefined;
    });
    this.#deps.onSpillState?.(this.#run.session, "restored");
  }

  #withFile(write: (file: SpillFile) => Promise<SpillResult>): Promise<void> {
    return this.#afterFileWork(async () => {
      // The store had it before the file.
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
    const { spills: journals } = this.#deps;
    if (this.#file !== undefined) return this.#file;
    if (journals === undefined) throw new Error("A spill needs a place.");
    const { owner, session, runId, lease, ids } = this.#run;
    const { place } = journals;
    const ingestId = ids.make("event");
    const begun = await journals.begin({
      owner,
      session,
      runId,
      fence: lease.fence,
      place,
      ingestId,
    });
    if (begun.status === "failed") return begun;
    this.#file = begun.file;
    return begun.file;
  }

  #stop(why: string): void {
    this.#stopped = {
      class: "fatal",
      code: "nowhere_to_store",
      message: `Neither the database nor the disk here could take the answer (${why}). It was stopped; what came before is above.`,
    };
    this.#deps.onSpillState?.(this.#run.session, "stopped");
  }
}

/** What a run's last runner left outside the store. `ref` is `null` when it cannot have left anything. */
export interface FoundSpill {
  readonly ref: SpillRef | null;
  readonly answer: SpillReadResult;
  /** What the store does not have yet. */
  readonly events: readonly NewEvent[];
  readonly end: SpillEnd | null;
  /** The stream ended by itself and nothing of it is missing: its message is whole. */
  readonly isWhole: boolean;
  /** There is a message, in the store or here. */
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

/** Looks where the runner of this journal said that it would write. */
export async function findSpill(
  journals: SpillStore | undefined,
  run: { readonly session: SessionId; readonly runId: RunId },
  journal: readonly StoredEvent[],
): Promise<FoundSpill> {
  const mark = lastSpillMark(journal);
  if (mark === null) return noSpill;
  const ref: SpillRef = { ...run, place: mark.place, fence: mark.fence };
  // Without a place of our own there is nowhere to look, and somebody else may have it.
  if (journals === undefined) return { ...noSpill, ref, answer: { status: "arriving" } };
  const answer = await journals.read(ref);
  if (answer.status !== "output") return { ...noSpill, ref, answer };
  const { end, damage } = answer;
  return {
    ref,
    answer,
    events: eventsAfter(answer.events, lastOutputId(journal)),
    end,
    isWhole: end?.how === "done" && damage.length === 0,
    hasMessage: [...journal, ...answer.events].some(({ type }) => type === "message.delta"),
  };
}

/** A commit whose answer was lost may stand: what the store has of a spill is its beginning, up to this event. */
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
  // A journal may be long, and nearly all of it is output: what cannot bear a mark is not looked into.
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
