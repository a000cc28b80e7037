import { json, type MessageId } from "@holdfast/protocol";

import type { Clock } from "../ports/clock.ts";
import type {
  Model,
  ModelCall,
  ModelEvent,
  ModelFailure,
  ModelRequest,
  ModelUsage,
} from "../ports/model.ts";
import type { Journal } from "./journal.ts";
import type { RunHandle } from "./run-handle.ts";
import { sizeLimits, jsonSize } from "./settle.ts";

/** How a model call ended and which tools it called. Its output is in the journal. */
export interface CallEnd {
  /** `abandoned`: it ignored its signal and may still be running. */
  readonly end: "done" | "stopped" | "abandoned" | { readonly failure: ModelFailure };
  readonly calls: readonly ModelCall[];
  readonly usage: ModelUsage | null;
}

/** How long a provider may ignore its signal before it is abandoned. */
const abandonAfterMs = 5_000;

/** Streams one model call into the journal. */
export async function callModel(
  run: RunHandle,
  model: Model,
  request: ModelRequest,
  deps: { readonly journal: Journal; readonly messageId: MessageId; readonly clock: Clock },
): Promise<CallEnd> {
  const { journal, messageId, clock } = deps;
  const calls: ModelCall[] = [];
  let size = 0;
  let usage: ModelUsage | null = null;
  let part = 0;
  let open: "text" | "reasoning" | null | "none yet" = "none yet";
  let backpressure: Promise<void> | undefined;
  const { signal } = run;
  await using stream = new ModelStream(() => model.stream(request, signal), signal, clock);
  for (;;) {
    const event = await stream.next();
    if (signal.aborted) {
      return { end: stream.isAbandoned ? "abandoned" : "stopped", calls, usage };
    }
    if (event === null) return { end: "done", calls, usage };
    switch (event.kind) {
      case "text":
      case "reasoning":
        if (event.text === "" && event.opaque === undefined) break;
        size += jsonSize(event.text) + (event.opaque ? jsonSize(event.opaque) : 0);
        if (size > sizeLimits.message) return { end: { failure: tooLong }, calls, usage };
        if (open !== "none yet" && open !== event.kind) part += 1;
        open = event.opaque === undefined ? event.kind : null;
        backpressure = journal.addText({ messageId, part, as: event.kind, ...textFields(event) });
        if (backpressure !== undefined) await backpressure;
        if (journal.stopped !== null) return { end: { failure: journal.stopped }, calls, usage };
        break;
      case "call":
        // Checked before measuring: input too deeply nested to store is also too deep to serialise.
        if (!json.safeParse(event.input).success)
          return { end: { failure: malformedCall }, calls: [], usage };
        size += jsonSize(event);
        if (
          size > sizeLimits.message ||
          calls.length === sizeLimits.calls ||
          jsonSize(event.input) > sizeLimits.callInput
        )
          return { end: { failure: tooMuchAsked }, calls: [], usage };
        calls.push(withCallId(run, event));
        break;
      case "usage":
        usage = event.usage;
        break;
      case "failed":
        return { end: { failure: event.failure }, calls, usage };
    }
  }
}

function textFields({ text, opaque }: Extract<ModelEvent, { kind: "text" | "reasoning" }>) {
  return { text, ...(opaque && { opaque }) };
}

function withCallId(run: RunHandle, event: Extract<ModelEvent, { kind: "call" }>): ModelCall {
  const { kind: _, ...call } = event;
  return { callId: run.ids.make("call"), ...call };
}

const tooLong: ModelFailure = {
  class: "fatal",
  code: "answer_too_long",
  message: "The answer was longer than can be kept. What came before is above.",
};
const tooMuchAsked: ModelFailure = {
  class: "fatal",
  code: "calls_too_large",
  message: "The model asked for more, or for larger, tool calls than can be kept. None was run.",
};
const malformedCall: ModelFailure = {
  class: "fatal",
  code: "call_malformed",
  message: "The model asked for a tool in a form that cannot be kept. None was run.",
};

/**
 * A model's stream up to its end, or until shortly after the signal aborts. A provider that throws has failed. Only one
 * event is awaited at a time and none is retained, since a stream may be long.
 */
class ModelStream implements AsyncDisposable {
  readonly #iterator: AsyncIterator<ModelEvent>;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  readonly #finished = new AbortController();
  #isAbandoned = false;
  #answer: (next: ModelEvent | null) => void = () => {};

  constructor(open: () => AsyncIterable<ModelEvent>, signal: AbortSignal, clock: Clock) {
    this.#iterator = openIterator(open);
    this.#signal = signal;
    this.#clock = clock;
    if (signal.aborted) this.#abandonLater();
    else signal.addEventListener("abort", this.#abandonLater, { once: true });
  }

  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** `null`: the stream has ended. */
  next(): Promise<ModelEvent | null> {
    if (this.#isAbandoned) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#answer = resolve;
      const fail = (error: unknown): void => resolve(brokenStream(error));
      try {
        this.#iterator.next().then((next) => resolve(next.done === true ? null : next.value), fail);
      } catch (error) {
        fail(error);
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener("abort", this.#abandonLater);
    this.#finished.abort();
    void this.#iterator.return?.().catch(() => {});
  }

  readonly #abandonLater = (): void => void this.#abandon();

  async #abandon(): Promise<void> {
    await this.#clock.sleep(abandonAfterMs, this.#finished.signal);
    this.#isAbandoned = true;
    this.#answer(null);
  }
}

function openIterator(open: () => AsyncIterable<ModelEvent>): AsyncIterator<ModelEvent> {
  try {
    return open()[Symbol.asyncIterator]();
  } catch (error) {
    const value = brokenStream(error);
    return { next: () => Promise.resolve({ done: false, value }) };
  }
}

function brokenStream(error: unknown): ModelEvent {
  const message = error instanceof Error ? error.message : String(error);
  return { kind: "failed", failure: { class: "fatal", code: "model_broken", message } };
}
