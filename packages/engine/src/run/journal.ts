import {
  type CallId,
  type IdSource,
  type MessageId,
  newEvent,
  type NewEvent,
  type RunId,
  type StoredEvent,
} from "@holdfast/protocol";

import { type StepFold, StepFolder } from "./fold-step.ts";
import type { Tick } from "./tick.ts";

/** Commits under the run's fence. `null`: the run is no longer ours, or the store cannot take it. */
export type WriteJournal = (events: readonly NewEvent[]) => Promise<readonly StoredEvent[] | null>;

/** Text that waits for the next tick: one event for each part, however many pieces the model sent. */
type Waiting =
  | {
      readonly kind: "message";
      readonly messageId: MessageId;
      readonly part: number;
      readonly as: "text" | "reasoning";
      text: string;
    }
  | { readonly kind: "output"; readonly callId: CallId; text: string };

const mostWaiting = 256 * 1024;
/** In characters: far below what an event may have, whatever they are. */
const largestDelta = 64 * 1024;

/**
 * A step's journal: output goes to the store tick by tick, one commit at a time, and counts as shown only when it
 * is there. What a model sends while a commit is under way shares the next one; a store that is slow slows the model.
 */
export class Journal {
  readonly #runId: RunId;
  readonly #ids: IdSource;
  readonly #tick: Tick;
  readonly #write: WriteJournal;
  readonly #folder = new StepFolder();
  #waiting: Waiting[] = [];
  #waitingLength = 0;
  #flushing: Promise<void> | undefined;
  /** Ends the wait for the next tick. */
  #hurry: () => void = () => {};
  #lost = false;

  constructor(
    runId: RunId,
    ids: IdSource,
    tick: Tick,
    write: WriteJournal,
    begun: readonly StoredEvent[] = [],
  ) {
    this.#runId = runId;
    this.#ids = ids;
    this.#tick = tick;
    this.#write = write;
    for (const event of begun) this.#folder.add(event);
  }

  /** What is durable of the step. */
  fold(): StepFold {
    return this.#folder.fold();
  }

  /** Nothing to wait for while the store keeps up; else the promise that there is room again. */
  addText(
    messageId: MessageId,
    part: number,
    as: "text" | "reasoning",
    text: string,
  ): Promise<void> | undefined {
    const last = this.#waiting.at(-1);
    const fits = last !== undefined && last.text.length + text.length < largestDelta;
    if (fits && last.kind === "message" && last.messageId === messageId && last.part === part)
      last.text += text;
    else this.#waiting.push({ kind: "message", messageId, part, as, text });
    return this.#added(text);
  }

  addOutput(callId: CallId, text: string): Promise<void> | undefined {
    const open = this.#waiting.findLast(
      (each) =>
        each.kind === "output" &&
        each.callId === callId &&
        each.text.length + text.length < largestDelta,
    );
    if (open === undefined) this.#waiting.push({ kind: "output", callId, text });
    else open.text += text;
    return this.#added(text);
  }

  /** Commits an event now, behind everything that was added before it. Says whether it stands. */
  async record(event: NewEvent): Promise<boolean> {
    await this.flush();
    return this.#commit([event]);
  }

  /** Resolves when everything that was added is durable, or the journal is lost. */
  async flush(): Promise<boolean> {
    while ((this.#waiting.length > 0 || this.#flushing !== undefined) && !this.#lost) {
      this.#flushing ??= this.#flushWaiting();
      this.#hurry();
      await this.#flushing;
    }
    return !this.#lost;
  }

  #added(text: string): Promise<void> | undefined {
    this.#waitingLength += text.length;
    this.#flushing ??= this.#flushWaiting();
    if (this.#waitingLength <= mostWaiting || this.#lost) return undefined;
    this.#hurry();
    return this.#flushing;
  }

  async #flushWaiting(): Promise<void> {
    await this.#nextTick();
    const events = this.#waiting.map((each) => this.#eventOf(each));
    this.#waiting = [];
    this.#waitingLength = 0;
    if (events.length > 0) await this.#commit(events);
    this.#flushing = undefined;
    if (this.#waiting.length > 0 && !this.#lost) this.#flushing = this.#flushWaiting();
  }

  async #nextTick(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const leave = this.#tick.join(resolve);
    this.#hurry = () => {
      leave();
      resolve();
    };
    await promise;
    this.#hurry = () => {};
  }

  #eventOf(waiting: Waiting): NewEvent {
    const id = this.#ids.make("event");
    if (waiting.kind === "output") {
      return newEvent(
        id,
        "tool.output",
        { callId: waiting.callId, text: waiting.text },
        this.#runId,
      );
    }
    const { messageId, part, as, text } = waiting;
    const place = part === 0 ? {} : { part };
    const kind = as === "text" ? {} : { kind: as };
    return newEvent(id, "message.delta", { messageId, text, ...place, ...kind }, this.#runId);
  }

  async #commit(events: readonly NewEvent[]): Promise<boolean> {
    if (this.#lost) return false;
    const stored = await this.#write(events);
    if (stored === null) this.#lost = true;
    else for (const event of stored) this.#folder.add(event);
    return stored !== null;
  }
}
