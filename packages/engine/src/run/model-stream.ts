import type { Clock } from "../ports/clock.ts";
import type { ModelEvent } from "../ports/model.ts";

/** How long a provider may ignore its signal before it is abandoned. */
const abandonAfterMs = 5_000;

/**
 * A model's stream up to its end, or until shortly after the signal aborts. A provider that throws has failed. Only one
 * event is awaited at a time and none is retained, since a stream may be long.
 */
export class ModelStream implements AsyncDisposable {
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
