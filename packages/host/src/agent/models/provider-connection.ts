export interface ConnectionLimits {
  /** Until the response starts. */
  readonly answerMs: number;
  /** Between two chunks of a response. */
  readonly silenceMs: number;
  readonly bytes: number;
}

const megabyte = 1024 * 1024;
/** A model that is loading or thinking is silent for minutes. */
export const defaultConnectionLimits: ConnectionLimits = {
  answerMs: 5 * 60_000,
  silenceMs: 5 * 60_000,
  bytes: 256 * megabyte,
};
/** Error responses are short. */
const maxErrorBytes = megabyte;

export class ConnectionFailure extends Error {
  readonly code: "model_silent" | "model_endless";

  constructor(code: ConnectionFailure["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** The connection of one call, closed by `signal`. */
export interface ProviderConnection {
  readonly fetch: typeof fetch;
  /** Whether the stream ended with `[DONE]`, by which chat completions mark a complete answer. */
  readonly isDone: boolean;
  /** Why it was closed. The layers in between wrap it in their own errors. */
  readonly failure: ConnectionFailure | null;
}

/** A fetch with limits on time and size that follows no redirects: a key is sent only to the address it belongs to. */
export function openProviderConnection(
  limits: ConnectionLimits,
  send: typeof fetch = fetch,
): ProviderConnection & { readonly close: () => void } {
  const closing = new AbortController();
  let tail = "";
  let failure: ConnectionFailure | null = null;
  const fail = (code: ConnectionFailure["code"], message: string): void => {
    failure = new ConnectionFailure(code, message);
    closing.abort(failure);
  };
  const boundedFetch: typeof fetch = async (input, init = {}) => {
    const signal = AbortSignal.any([closing.signal, ...(init.signal ? [init.signal] : [])]);
    const silenceTimer = startSilenceTimer(limits.answerMs, () =>
      fail("model_silent", "The provider was silent for too long."),
    );
    try {
      const response = await send(input, { ...init, signal, redirect: "error" });
      silenceTimer.expect(limits.silenceMs);
      if (response.body === null) return (silenceTimer.end(), response);
      const maxBytes = response.ok ? limits.bytes : maxErrorBytes;
      const body = bounded(response.body, {
        maxBytes,
        silenceTimer,
        onOverflow: () => fail("model_endless", "The provider sent more than can be kept."),
        onTail: (text) => (tail = (tail + text).slice(-32)),
      });
      return new Response(body, response);
    } catch (error) {
      silenceTimer.end();
      throw closing.signal.aborted ? closing.signal.reason : error;
    }
  };
  return {
    fetch: boundedFetch,
    get isDone() {
      return tail.includes("[DONE]");
    },
    get failure() {
      return failure;
    },
    close: () => closing.abort(),
  };
}

interface SilenceTimer {
  expect(ms: number): void;
  refresh(): void;
  end(): void;
}

function startSilenceTimer(firstMs: number, onTimeout: () => void): SilenceTimer {
  let timer = setTimeout(onTimeout, firstMs);
  return {
    expect(ms) {
      clearTimeout(timer);
      timer = setTimeout(onTimeout, ms);
    },
    refresh: () => void timer.refresh(),
    end: () => clearTimeout(timer),
  };
}

function bounded(
  body: ReadableStream<Uint8Array>,
  options: {
    readonly maxBytes: number;
    readonly silenceTimer: SilenceTimer;
    readonly onOverflow: () => void;
    readonly onTail: (tail: string) => void;
  },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const { maxBytes: most, silenceTimer: watch, onOverflow: tooMuch, onTail: keep } = options;
  let receivedBytes = 0;
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          watch.end();
          return controller.close();
        }
        watch.refresh();
        receivedBytes += value.byteLength;
        if (receivedBytes > most) tooMuch();
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
