/** What a provider's connection may take. */
export interface ConnectionLimits {
  /** Until it begins to answer. */
  readonly answerMs: number;
  /** Between two pieces of an answer. */
  readonly silenceMs: number;
  readonly bytes: number;
}

const megabyte = 1024 * 1024;
/** A model that is being loaded, or that thinks, is silent for minutes. */
export const defaultConnectionLimits: ConnectionLimits = {
  answerMs: 5 * 60_000,
  silenceMs: 5 * 60_000,
  bytes: 256 * megabyte,
};
/** A failure is told in a page of text. */
const maxOfFailure = megabyte;

export class ConnectionFailure extends Error {
  readonly code: "model_silent" | "model_endless";

  constructor(code: ConnectionFailure["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** One call's connection: `signal` cuts it. */
export interface ProviderConnection {
  readonly fetch: typeof fetch;
  /** The stream ended with the word by which chat completions say that all was said. */
  readonly isDone: boolean;
  /** Why it was given up. Those in between wrap it in errors of their own. */
  readonly failure: ConnectionFailure | null;
}

/**
 * A fetch that waits so long and no longer, takes so much and no more, and follows nobody elsewhere: a key is sent to the
 * address that it belongs to.
 */
export function openProviderConnection(
  limits: ConnectionLimits,
  send: typeof fetch = fetch,
): ProviderConnection & { readonly close: () => void } {
  const over = new AbortController();
  let tail = "";
  let failure: ConnectionFailure | null = null;
  const giveUp = (code: ConnectionFailure["code"], message: string): void => {
    failure = new ConnectionFailure(code, message);
    over.abort(failure);
  };
  const fetchWithin: typeof fetch = async (input, init = {}) => {
    const signal = AbortSignal.any([over.signal, ...(init.signal ? [init.signal] : [])]);
    const watch = startSilenceTimer(limits.answerMs, () =>
      giveUp("model_silent", "The provider was silent for too long."),
    );
    try {
      const response = await send(input, { ...init, signal, redirect: "error" });
      watch.expect(limits.silenceMs);
      if (response.body === null) return (watch.end(), response);
      const most = response.ok ? limits.bytes : maxOfFailure;
      const body = bounded(response.body, {
        most,
        watch,
        tooMuch: () => giveUp("model_endless", "The provider sent more than can be kept."),
        keep: (text) => (tail = (tail + text).slice(-32)),
      });
      return new Response(body, response);
    } catch (error) {
      watch.end();
      throw over.signal.aborted ? over.signal.reason : error;
    }
  };
  return {
    fetch: fetchWithin,
    get isDone() {
      return tail.includes("[DONE]");
    },
    get failure() {
      return failure;
    },
    close: () => over.abort(),
  };
}

interface SilenceTimer {
  expect(ms: number): void;
  heard(): void;
  end(): void;
}

function startSilenceTimer(firstMs: number, tooLong: () => void): SilenceTimer {
  let timer = setTimeout(tooLong, firstMs);
  return {
    expect(ms) {
      clearTimeout(timer);
      timer = setTimeout(tooLong, ms);
    },
    heard: () => void timer.refresh(),
    end: () => clearTimeout(timer),
  };
}

function bounded(
  body: ReadableStream<Uint8Array>,
  rest: {
    readonly most: number;
    readonly watch: SilenceTimer;
    readonly tooMuch: () => void;
    readonly keep: (tail: string) => void;
  },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const { most, watch, tooMuch, keep } = rest;
  let taken = 0;
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          watch.end();
          return controller.close();
        }
        watch.heard();
        taken += value.byteLength;
        if (taken > most) tooMuch();
        keep(Buffer.from(value.subarray(-32)).toString("latin1"));
        controller.enqueue(value);
      } catch (error) {
        watch.end();
        void reader.cancel().catch(() => {});
        controller.error(error);
      }
    },
    async cancel(reason) {
      watch.end();
      await reader.cancel(reason);
    },
  });
}
