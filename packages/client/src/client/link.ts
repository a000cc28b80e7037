import { uuidv7 } from "uuidv7";

/** Like the platform's `fetch`, and like Hono's `app.request`. */
export type Fetch = (url: string, init: RequestInit) => Response | Promise<Response>;

export interface ClientOptions {
  /** In front of every path; empty for the page's own origin. */
  readonly baseUrl?: string;
  readonly fetch?: Fetch;
  /** A bearer token. Without one the browser's cookie speaks. */
  readonly token?: string;
  /** From 0 up to, but without, 1. */
  readonly random?: () => number;
  /** Resolves when the time has passed, and at once when the signal says stop. It never rejects. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly newKey?: () => string;
}

/** How a client reaches its host: everything from outside, in one place. */
export interface Transport {
  readonly baseUrl: string;
  readonly fetch: Fetch;
  readonly headers: Readonly<Record<string, string>>;
  readonly random: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly newKey: () => string;
}

export function createTransport(options: ClientOptions): Transport {
  return {
    baseUrl: (options.baseUrl ?? "").replace(/\/+$/, ""),
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    headers: options.token === undefined ? {} : { authorization: `Bearer ${options.token}` },
    random: options.random ?? Math.random,
    sleep: options.sleep ?? sleepByTimer,
    newKey: options.newKey ?? uuidv7,
  };
}

function sleepByTimer(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

/** Doubles with each failure up to a ceiling; the jitter keeps clients from coming back together. */
export function backoffMs(failures: number, random: () => number): number {
  const full = Math.min(15_000, 250 * 2 ** Math.min(failures - 1, 10));
  return full / 2 + (full / 2) * random();
}
