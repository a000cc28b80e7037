import {
  type CallId,
  type IdSource,
  type MessageId,
  newEvent,
  type NewEvent,
  type RunId,
  type StoredEvent,
} from "@holdfast/protocol";

/** Commits under the run's fence. `null`: the run is no longer ours, or the store cannot take it. */
export type WriteJournal = (
  events: readonly NewEvent[],
  pace: "now" | "tick",
) => Promise<readonly StoredEvent[] | null>;

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
  readonly #write: WriteJournal;
  readonly #events: StoredEvent[] = [];
  #waiting: Waiting[] = [];
  #waitingLength = 0;
  #flushing: Promise<void> | undefined;
  #lost = false;

  constructor(
    runId: RunId,
    ids: IdSource,
    write: WriteJournal,
    begun: readonly StoredEvent[] = [],
  ) {
    this.#runId = runId;
    this.#ids = ids;
    this.#write = write;
    this.#events.push(...begun);
  }

  /** What is durable of the step, in order. */
  get events(): readonly StoredEvent[] {
    return this.#events;
  }

  /** Resolves at once while the store keeps up, else when there is room again. */
  addText(
    messageId: MessageId,
    part: number,
    as: "text" | "reasoning",
    text: string,
  ): Promise<void> {
    const last = this.#waiting.at(-1);
    const fits = last !== undefined && last.text.length + text.length < largestDelta;
    if (fits && last.kind === "message" && last.messageId === messageId && last.part === part)
      last.text += text;
    else this.#waiting.push({ kind: "message", messageId, part, as, text });
    return this.#added(text);
  }

  addOutput(callId: CallId, text: string): Promise<void> {
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
    return this.#commit([event], "now");
  }

  /** Resolves when everything that was added is durable, or the journal is lost. */
  async flush(): Promise<boolean> {
    while ((this.#waiting.length > 0 || this.#flushing !== undefined) && !this.#lost) {
      await (this.#flushing ?? this.#startFlush("now"));
    }
    return !this.#lost;
  }

  async #added(text: string): Promise<void> {
    this.#waitingLength += text.length;
    const flushing = this.#flushing ?? this.#startFlush("tick");
    if (this.#waitingLength > mostWaiting && !this.#lost) await flushing;
  }

  #startFlush(pace: "now" | "tick"): Promise<void> {
    this.#flushing = this.#flushWaiting(pace);
    return this.#flushing;
  }

  async #flushWaiting(pace: "now" | "tick"): Promise<void> {
    // Goes off at the end of this turn, so that what is added in it comes along.
    await Promise.resolve();
    const events = this.#waiting.map((each) => this.#eventOf(each));
    this.#waiting = [];
    this.#waitingLength = 0;
    if (events.length > 0) await this.#commit(events, pace);
    this.#flushing = undefined;
    if (this.#waiting.length > 0 && !this.#lost) void this.#startFlush("tick");
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

  async #commit(events: readonly NewEvent[], pace: "now" | "tick"): Promise<boolean> {
    if (this.#lost) return false;
    const stored = await this.#write(events, pace);
    if (stored === null) this.#lost = true;
    else this.#events.push(...stored);
    return stored !== null;
  }
}
