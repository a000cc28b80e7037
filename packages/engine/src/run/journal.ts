import type { CallId, JsonObject, MessageId, NewEvent, StoredEvent } from "@holdfast/protocol";
import type { ModelFailure } from "../ports/model.ts";
import type { SpillEnd } from "../ports/spill.ts";
import { type StepFold, StepFolder } from "./fold-step.ts";
import type { RunHandle } from "./run-handle.ts";
import { jsonSize } from "./settle.ts";
import { type WriteAttempt, SpillWriter, type SpillDeps } from "../recovery/spill.ts";
import type { Clock } from "../ports/clock.ts";

/** Text that waits for the next tick: one event for each part, however many pieces the model sent. */
type PendingText =
  | ({ readonly kind: "message"; text: string; opaque?: JsonObject } & Omit<TextDelta, "text">)
  | { readonly kind: "output"; readonly callId: CallId; text: string };

export interface TextDelta {
  readonly messageId: MessageId;
  readonly part: number;
  readonly as: "text" | "reasoning";
  readonly text: string;
  readonly opaque?: JsonObject;
}

export interface JournalDeps extends SpillDeps {
  readonly tick: Tick;
}

const maxPendingChars = 256 * 1024;
/** A store that has not answered in so long is away; its answer still counts when it comes. */
const commitTimeoutMs = 2_000;
/** In characters: far below what an event may have, whatever they are. */
const maxDeltaChars = 64 * 1024;
/** In bytes: what many tools say in one tick may be more than one commit takes, or one record of a spill. */
const maxBatchBytes = 2 * 1024 * 1024;

/**
 * A step's journal: output goes to the store tick by tick, one commit at a time, and counts as shown only when it
 * is there. What a model sends while a commit is under way shares the next one; a store that is slow slows the model.
 */
export class Journal {
  readonly #run: RunHandle;
  readonly #deps: JournalDeps;
  readonly #spill: SpillWriter;
  readonly #folder = new StepFolder();
  #waiting: PendingText[] = [];
  #waitingLength = 0;
  #flushing: Promise<void> | undefined;
  /** Ends the wait for the next tick. */
  #hurry: () => void = () => {};

  constructor(deps: JournalDeps, run: RunHandle, begun: readonly StoredEvent[] = []) {
    this.#deps = deps;
    this.#run = run;
    this.#spill = new SpillWriter(deps, run, (events) => this.#stands(events));
    this.#stands(begun);
  }

  /** Set when nothing takes any more output: then whoever produces it has to stop. */
  get stopped(): ModelFailure | null {
    return this.#spill.stopped;
  }

  /** What is durable of the step. */
  fold(): StepFold {
    return this.#folder.fold();
  }

  /** Nothing to wait for while the store keeps up; else the promise that there is room again. */
  addText(said: TextDelta): Promise<void> | undefined {
    const { messageId, part, text, opaque } = said;
    const last = this.#waiting.at(-1);
    const fits = last !== undefined && last.text.length + text.length < maxDeltaChars;
    if (fits && last.kind === "message" && last.messageId === messageId && last.part === part) {
      last.text += text;
      if (opaque !== undefined) last.opaque = opaque;
    } else this.#waiting.push({ kind: "message", ...said });
    return this.#added(text);
  }

  addOutput(callId: CallId, text: string): Promise<void> | undefined {
    const open = this.#waiting.findLast(
      (each) =>
        each.kind === "output" &&
        each.callId === callId &&
        each.text.length + text.length < maxDeltaChars,
    );
    if (open === undefined) this.#waiting.push({ kind: "output", callId, text });
    else open.text += text;
    return this.#added(text);
  }

  /**
   * Commits an event now, behind everything that was added before it. Says whether it stands. While the store is away the
   * end of a tool is kept with the rest; nothing else is, so nothing begins that the store does not know of.
   */
  async record(event: NewEvent): Promise<boolean> {
    if (event.type !== "tool.ended") {
      if (!(await this.flush())) return false;
      const stored = await this.#run.write([event]);
      if (stored !== null) this.#stands(stored);
      return stored !== null;
    }
    await this.#pour();
    await this.#commit([event]);
    return this.flush();
  }

  /** Keeps how the stream ended, if the store is away. */
  async end(end: SpillEnd): Promise<void> {
    await this.#pour();
    await this.#spill.seal(end);
  }

  /** Resolves when everything that was added stands in the store, or the run is lost. */
  async flush(): Promise<boolean> {
    do {
      await this.#pour();
      await this.#spill.settled();
    } while (this.#waiting.length > 0 && !this.#lost);
    return !this.#lost;
  }

  get #lost(): boolean {
    return this.#run.lost !== null;
  }

  /** Resolves when everything that was added is in the store or in the file. */
  async #pour(): Promise<void> {
    while ((this.#waiting.length > 0 || this.#flushing !== undefined) && !this.#lost) {
      this.#flushing ??= this.#flushSoon();
      this.#hurry();
      await this.#flushing;
    }
  }

  #added(text: string): Promise<void> | undefined {
    this.#waitingLength += text.length;
    this.#flushing ??= this.#flushSoon();
    if (this.#waitingLength <= maxPendingChars || this.#lost) return undefined;
    this.#hurry();
    return this.#flushing;
  }

  /** Whoever waits for it next hears of what went wrong; until then it is nobody's, and must not end the host. */
  #flushSoon(): Promise<void> {
    const flushing = this.#flushWaiting();
    flushing.catch(() => {});
    return flushing;
  }

  async #flushWaiting(): Promise<void> {
    await this.#nextTick();
    const batches = splitIntoBatches(this.#waiting);
    this.#waiting = [];
    this.#waitingLength = 0;
    for (const batch of batches) await this.#commit(batch.map((each) => this.#eventOf(each)));
    this.#flushing = undefined;
    if (this.#waiting.length > 0 && !this.#lost) this.#flushing = this.#flushSoon();
  }

  async #nextTick(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const leave = this.#deps.tick.join(resolve);
    this.#hurry = () => {
      leave();
      resolve();
    };
    await promise;
    this.#hurry = () => {};
  }

  #eventOf(waiting: PendingText): NewEvent {
    if (waiting.kind === "output")
      return this.#run.event("tool.output", { callId: waiting.callId, text: waiting.text });
    const { messageId, part, as, text, opaque } = waiting;
    const place = part === 0 ? {} : { part };
    const kind = as === "text" ? {} : { kind: as };
    const rest = opaque === undefined ? {} : { opaque };
    return this.#run.event("message.delta", { messageId, text, ...place, ...kind, ...rest });
  }

  #stands(stored: readonly StoredEvent[]): void {
    for (const event of stored) this.#folder.add(event);
  }

  async #commit(events: readonly NewEvent[]): Promise<void> {
    if (this.#lost) return;
    if (this.#spill.active) return this.#spill.add(events);
    if (this.#deps.spills === undefined) {
      const stored = await this.#run.write(events);
      if (stored !== null) this.#stands(stored);
      return;
    }
    const attempt = this.#run.tryWrite(events);
    const result = await this.#inTime(attempt);
    if (result === "late") await this.#spill.add(events, attempt);
    else if (result === "away") await this.#spill.add(events);
    else if (result !== null) this.#stands(result);
  }

  async #inTime(attempt: Promise<WriteAttempt>): Promise<WriteAttempt | "late"> {
    const answered = new AbortController();
    const late = this.#deps.clock
      .sleep(commitTimeoutMs, answered.signal)
      .then(() => "late" as const);
    try {
      return await Promise.race([attempt, late]);
    } finally {
      answered.abort();
    }
  }
}

/** In the order in which it came. */
function splitIntoBatches(waiting: readonly PendingText[]): readonly (readonly PendingText[])[] {
  const batches: PendingText[][] = [];
  let room = 0;
  for (const each of waiting) {
    const opaque = each.kind === "message" && each.opaque !== undefined ? each.opaque : "";
    const size = jsonSize(each.text) + jsonSize(opaque);
    if (size > room || batches.length === 0) {
      batches.push([]);
      room = maxBatchBytes;
    }
    batches.at(-1)?.push(each);
    room -= size;
  }
  return batches;
}

/** With few runs the beat is quick; with many it is slower, so that commits do not grow with the runs alone. */
const minTickMs = 20;
const maxTickMs = 50;
const msPerRun = 0.05;

/** So many go off in one turn of the event loop: a thousand at once would hold everything else up. */
const maxPerTurn = 64;

/**
 * The beat to which the runs of a process commit what they stream. What was gathered is taken when the beat comes, not when
 * the wait for it begins, so nothing waits for more than one. While nobody waits there is no timer.
 */
export class Tick {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #lastAt = -Infinity;
  #lastCount = 0;
  #beating: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `go` once, with the next beat: at the end of this turn when the last one is long ago. Returns how to leave. */
  join(go: () => void): () => void {
    this.#waiting.add(go);
    if (this.#beating === undefined) void this.#beat();
    return () => {
      this.#waiting.delete(go);
      if (this.#waiting.size > 0) return;
      this.#beating?.abort();
      this.#beating = undefined;
    };
  }

  async #beat(): Promise<void> {
    const beating = new AbortController();
    this.#beating = beating;
    const due = this.#lastAt + this.#everyMs() - this.#clock.now();
    // At the end of the turn at the earliest, so that what is added in it comes along.
    await (due > 0 ? this.#clock.sleep(due, beating.signal) : Promise.resolve());
    if (beating.signal.aborted) return;
    this.#lastAt = this.#clock.now();
    await this.#letGo([...this.#waiting], beating.signal);
    if (beating.signal.aborted) return;
    this.#beating = undefined;
    // Those who came meanwhile wait for the next one.
    if (this.#waiting.size > 0) void this.#beat();
  }

  async #letGo(all: readonly (() => void)[], signal: AbortSignal): Promise<void> {
    this.#lastCount = all.length;
    for (const [index, go] of all.entries()) {
      if (index > 0 && index % maxPerTurn === 0) await this.#clock.sleep(0, signal);
      if (this.#waiting.delete(go)) go();
    }
  }

  #everyMs(): number {
    return Math.min(maxTickMs, Math.max(minTickMs, this.#lastCount * msPerRun));
  }
}
