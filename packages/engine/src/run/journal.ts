import {
  type CallId,
  type JsonObject,
  type MessageId,
  type NewEvent,
  type StoredEvent,
  withTimeout,
} from "@holdfast/protocol";
import type { ModelFailure } from "../ports/model.ts";
import type { SpillEnd } from "../ports/spill.ts";
import { type StepFold, StepFolder } from "./fold-step.ts";
import type { RunHandle } from "./run-handle.ts";
import { jsonSize } from "./settle.ts";
import { SpillWriter, type SpillDeps } from "../recovery/spill.ts";
import type { Clock } from "../ports/clock.ts";

/** Text that waits for the next tick: one event per part, however many pieces the model sent. */
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
/** After this long the store counts as away; a late answer still counts. */
const commitTimeoutMs = 2_000;
/** Far below the size limit of an event, whatever the characters are. */
const maxDeltaChars = 64 * 1024;
/** Many tools can output more in one tick than fits into one commit or one spill record. */
const maxBatchBytes = 2 * 1024 * 1024;

/**
 * A step's journal: output goes to the store tick by tick, one commit at a time, and counts as shown only once it is
 * stored. What a model sends during a commit goes into the next one, so a slow store slows the model down.
 */
export class Journal {
  readonly #run: RunHandle;
  readonly #deps: JournalDeps;
  readonly #spill: SpillWriter;
  readonly #folder = new StepFolder();
  #pending: PendingText[] = [];
  #pendingChars = 0;
  #flushing: Promise<void> | undefined;
  /** Ends the wait for the next tick. */
  #skipWait: () => void = () => {};

  constructor(deps: JournalDeps, run: RunHandle, alreadyStored: readonly StoredEvent[] = []) {
    this.#deps = deps;
    this.#run = run;
    this.#spill = new SpillWriter(deps, run, (events) => this.#foldStored(events));
    this.#foldStored(alreadyStored);
  }

  /** Set when neither the store nor the spill takes output any more: the producer has to stop. */
  get stopped(): ModelFailure | null {
    return this.#spill.stopped;
  }

  /** The durable part of the step. */
  fold(): StepFold {
    return this.#folder.fold();
  }

  /** Returns `undefined` while the store keeps up, otherwise a promise to await before adding more. */
  addText(delta: TextDelta): Promise<void> | undefined {
    const { messageId, part, text, opaque } = delta;
    const last = this.#pending.at(-1);
    const fits = last !== undefined && last.text.length + text.length < maxDeltaChars;
    if (fits && last.kind === "message" && last.messageId === messageId && last.part === part) {
      last.text += text;
      if (opaque !== undefined) last.opaque = opaque;
    } else this.#pending.push({ kind: "message", ...delta });
    return this.#scheduleFlush(text);
  }

  addOutput(callId: CallId, text: string): Promise<void> | undefined {
    const open = this.#pending.findLast(
      (item) =>
        item.kind === "output" &&
        item.callId === callId &&
        item.text.length + text.length < maxDeltaChars,
    );
    if (open === undefined) this.#pending.push({ kind: "output", callId, text });
    else open.text += text;
    return this.#scheduleFlush(text);
  }

  /**
   * Commits an event now, after everything added before it, and says whether it is stored. While the store is away only
   * the end of a tool is spilled: nothing may start that the store does not know of.
   */
  async record(event: NewEvent): Promise<boolean> {
    if (event.type !== "tool.ended") {
      if (!(await this.flush())) return false;
      const stored = await this.#run.write([event]);
      if (stored !== null) this.#foldStored(stored);
      return stored !== null;
    }
    await this.#drain();
    await this.#commit([event]);
    return this.flush();
  }

  /** Records how the stream ended, if the store is away. */
  async end(end: SpillEnd): Promise<void> {
    await this.#drain();
    await this.#spill.seal(end);
  }

  /** Resolves when everything added is in the store, or the run is lost. */
  async flush(): Promise<boolean> {
    do {
      await this.#drain();
      await this.#spill.settled();
    } while (this.#pending.length > 0 && !this.#lost);
    return !this.#lost;
  }

  get #lost(): boolean {
    return this.#run.lost !== null;
  }

  /** Resolves when everything added is in the store or in the spill. */
  async #drain(): Promise<void> {
    while ((this.#pending.length > 0 || this.#flushing !== undefined) && !this.#lost) {
      this.#flushing ??= this.#flushSoon();
      this.#skipWait();
      await this.#flushing;
    }
  }

  #scheduleFlush(text: string): Promise<void> | undefined {
    this.#pendingChars += text.length;
    this.#flushing ??= this.#flushSoon();
    if (this.#pendingChars <= maxPendingChars || this.#lost) return undefined;
    this.#skipWait();
    return this.#flushing;
  }

  /** The next caller who awaits the flush sees its error; until then an unhandled rejection must not end the host. */
  #flushSoon(): Promise<void> {
    const flushing = this.#flushPending();
    flushing.catch(() => {});
    return flushing;
  }

  async #flushPending(): Promise<void> {
    await this.#nextTick();
    const batches = splitIntoBatches(this.#pending);
    this.#pending = [];
    this.#pendingChars = 0;
    for (const batch of batches) await this.#commit(batch.map((item) => this.#eventOf(item)));
    this.#flushing = undefined;
    if (this.#pending.length > 0 && !this.#lost) this.#flushing = this.#flushSoon();
  }

  async #nextTick(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const leave = this.#deps.tick.join(resolve);
    this.#skipWait = () => {
      leave();
      resolve();
    };
    await promise;
    this.#skipWait = () => {};
  }

  #eventOf(waiting: PendingText): NewEvent {
    if (waiting.kind === "output")
      return this.#run.event("tool.output", { callId: waiting.callId, text: waiting.text });
    const { messageId, part, as, text, opaque } = waiting;
    const partField = part === 0 ? {} : { part };
    const kindField = as === "text" ? {} : { kind: as };
    const opaqueField = opaque === undefined ? {} : { opaque };
    return this.#run.event("message.delta", {
      messageId,
      text,
      ...partField,
      ...kindField,
      ...opaqueField,
    });
  }

  #foldStored(stored: readonly StoredEvent[]): void {
    for (const event of stored) this.#folder.add(event);
  }

  async #commit(events: readonly NewEvent[]): Promise<void> {
    if (this.#lost) return;
    if (this.#spill.active) return this.#spill.add(events);
    if (this.#deps.spills === undefined) {
      const stored = await this.#run.write(events);
      if (stored !== null) this.#foldStored(stored);
      return;
    }
    const attempt = this.#run.tryWrite(events);
    const { clock } = this.#deps;
    const result = await withTimeout({ clock, ms: commitTimeoutMs }, () => attempt);
    if (result.status !== "done") await this.#spill.add(events, attempt);
    else if (result.value === "away") await this.#spill.add(events);
    else if (result.value !== null) this.#foldStored(result.value);
  }
}

function splitIntoBatches(waiting: readonly PendingText[]): readonly (readonly PendingText[])[] {
  const batches: PendingText[][] = [];
  let roomBytes = 0;
  for (const item of waiting) {
    const opaque = item.kind === "message" && item.opaque !== undefined ? item.opaque : "";
    const size = jsonSize(item.text) + jsonSize(opaque);
    if (size > roomBytes || batches.length === 0) {
      batches.push([]);
      roomBytes = maxBatchBytes;
    }
    batches.at(-1)?.push(item);
    roomBytes -= size;
  }
  return batches;
}

/** The tick slows down with the number of runs, so that commits do not grow in proportion to them. */
const minTickMs = 20;
const maxTickMs = 50;
const msPerRun = 0.05;

/** How many callbacks run in one turn of the event loop: a thousand at once would block everything else. */
const maxPerTurn = 64;

/**
 * The tick on which the runs of a process commit their streamed output. Output is collected when the tick fires, not
 * when the wait for it starts, so nothing waits longer than one tick. With nobody waiting there is no timer.
 */
export class Tick {
  readonly #clock: Clock;
  readonly #pending = new Set<() => void>();
  #lastAt = -Infinity;
  #lastCount = 0;
  #pendingTick: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Calls `onTick` once on the next tick, or at the end of this turn if the last tick is long past. Returns a function
   * that cancels it.
   */
  join(onTick: () => void): () => void {
    this.#pending.add(onTick);
    if (this.#pendingTick === undefined) void this.#runTick();
    return () => {
      this.#pending.delete(onTick);
      if (this.#pending.size > 0) return;
      this.#pendingTick?.abort();
      this.#pendingTick = undefined;
    };
  }

  async #runTick(): Promise<void> {
    const pendingTick = new AbortController();
    this.#pendingTick = pendingTick;
    const due = this.#lastAt + this.#intervalMs() - this.#clock.now();
    // At the end of this turn at the earliest, so that everything added in it is included.
    await (due > 0 ? this.#clock.sleep(due, pendingTick.signal) : Promise.resolve());
    if (pendingTick.signal.aborted) return;
    this.#lastAt = this.#clock.now();
    await this.#fire([...this.#pending], pendingTick.signal);
    if (pendingTick.signal.aborted) return;
    this.#pendingTick = undefined;
    // Callbacks that joined meanwhile wait for the next tick.
    if (this.#pending.size > 0) void this.#runTick();
  }

  async #fire(callbacks: readonly (() => void)[], signal: AbortSignal): Promise<void> {
    this.#lastCount = callbacks.length;
    for (const [index, onTick] of callbacks.entries()) {
      if (index > 0 && index % maxPerTurn === 0) await this.#clock.sleep(0, signal);
      if (this.#pending.delete(onTick)) onTick();
    }
  }

  #intervalMs(): number {
    return Math.min(maxTickMs, Math.max(minTickMs, this.#lastCount * msPerRun));
  }
}
