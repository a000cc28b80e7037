import { z } from "zod";
import type { ApiError, ConnectionState, Result, Client } from "@holdfast/client";

/** Resolves when the time is over, and at once when the signal says stop. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

/** How long a host that is away is waited for. Aborts `over` when it has been away for longer than that. */
export interface HostWait {
  readonly expired: AbortSignal;
  /** To be told how the connection stands. */
  readonly onConnection: (state: ConnectionState) => void;
  /** Asks until there is an answer, or until the host has been away for too long. */
  retryUntilAnswered<T>(ask: () => Promise<Result<T>>): Promise<Result<T>>;
  stop(): void;
}

const retryMs = 400;

export function createHostWait(boundMs: number): HostWait {
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  function away(): void {
    timer ??= setTimeout(() => over.abort(), boundMs);
  }
  function back(): void {
    clearTimeout(timer);
    timer = undefined;
  }
  return {
    expired: over.signal,
    onConnection: (state) => (state === "live" ? back() : away()),
    async retryUntilAnswered(ask) {
      for (;;) {
        const result = await ask();
        if (result.ok || !isTransient(result.error)) {
          back();
          return result;
        }
        away();
        if (over.signal.aborted) return result;
        await sleep(retryMs, over.signal);
        if (over.signal.aborted) return result;
      }
    },
    stop: back,
  };
}

/** What is over when a person has mended it, and not by itself: they had better hear of it at once. */
const needsOperator: ReadonlySet<string> = new Set(["internal", "store_full", "store_unwritable"]);

/** Whether waiting may help: no answer, or a host that is starting, stopping or overloaded. */
function isTransient(error: ApiError): boolean {
  if (error.kind === "network") return true;
  if (error.kind === "problem")
    return error.problem.status >= 500 && !needsOperator.has(error.code);
  return error.kind === "unexpected" && error.status >= 500;
}

/** Whoever waits for an answer, and hears nothing. */
export interface StallWatch {
  /** Something came. */
  reset(): void;
  stop(): void;
}

export interface StallWatchDeps {
  readonly client: Pick<Client, "health">;
  /** Why nothing comes; empty when that is over. */
  readonly onReasons: (reasons: string) => void;
  /** Whether anything is to be expected. */
  readonly isWaiting: () => boolean;
  readonly everyMs?: number;
}

const defaultCheckMs = 3_000;
const health = z.looseObject({ reasons: z.array(z.string()).optional() });

/**
 * A host whose disk is full in the middle of a run cannot even write that down: the run stands still, and there is no event to
 * tell of it. So after a while of silence the host is asked how it is, for as long as the silence lasts.
 */
export function watchForStall({
  client,
  onReasons: tell,
  isWaiting,
  everyMs = defaultCheckMs,
}: StallWatchDeps): StallWatch {
  let told = "";
  const over = new AbortController();
  let timer = setTimeout(ask, everyMs);

  function say(reasons: string): void {
    if (reasons !== told && !over.signal.aborted) tell(reasons);
    told = reasons;
  }

  function again(): void {
    clearTimeout(timer);
    if (!over.signal.aborted) timer = setTimeout(ask, everyMs);
  }

  function ask(): void {
    void (isWaiting() ? askHost() : Promise.resolve()).finally(again);
  }

  async function askHost(): Promise<void> {
    const answer = await client.health({}, { signal: over.signal });
    // One that does not answer is told of by the connection.
    if (answer.ok) say(health.safeParse(answer.value).data?.reasons?.join(" ") ?? "");
  }

  return {
    reset() {
      say("");
      again();
    },
    stop() {
      over.abort();
      clearTimeout(timer);
    },
  };
}
