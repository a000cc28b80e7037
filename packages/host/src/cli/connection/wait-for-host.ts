import { z } from "zod";
import type { ApiError, ConnectionState, Result, Client } from "@holdfast/client";
import { sleep } from "@holdfast/protocol";

/** Bounds how long to wait for a host that is away; `expired` is aborted after that. */
export interface HostWait {
  readonly expired: AbortSignal;
  /** To be called with every change of the connection. */
  readonly onConnection: (state: ConnectionState) => void;
  /** Repeats the request until it is answered, or the wait has expired. */
  readonly retryUntilAnswered: <T>(ask: () => Promise<Result<T>>) => Promise<Result<T>>;
  stop(): void;
}

const retryMs = 400;

export function createHostWait(maxWaitMs: number): HostWait {
  const expired = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  function startTimer(): void {
    timer ??= setTimeout(() => expired.abort(), maxWaitMs);
  }
  function stopTimer(): void {
    clearTimeout(timer);
    timer = undefined;
  }
  return {
    expired: expired.signal,
    onConnection: (state) => (state === "live" ? stopTimer() : startTimer()),
    async retryUntilAnswered(request) {
      for (;;) {
        const result = await request();
        if (result.ok || !isTransient(result.error)) {
          stopTimer();
          return result;
        }
        startTimer();
        if (expired.signal.aborted) return result;
        await sleep(retryMs, expired.signal);
        if (expired.signal.aborted) return result;
      }
    },
    stop: stopTimer,
  };
}

/** Errors that only a person can fix, so they are shown at once. */
const needsOperator: ReadonlySet<string> = new Set(["internal", "store_full", "store_unwritable"]);

/** Whether waiting may help: no answer, or a host that is starting, stopping or overloaded. */
function isTransient(error: ApiError): boolean {
  if (error.kind === "network") return true;
  if (error.kind === "problem")
    return error.problem.status >= 500 && !needsOperator.has(error.code);
  return error.kind === "unexpected" && error.status >= 500;
}

/** Watches for silence while an answer is expected. */
export interface StallWatch {
  /** Call when something arrives. */
  reset(): void;
  stop(): void;
}

export interface StallWatchDeps {
  readonly client: Pick<Client, "health">;
  /** Called with the reason why nothing arrives, and with an empty string once something does. */
  readonly onReasons: (reasons: string) => void;
  /** Whether anything is expected at the moment. */
  readonly isWaiting: () => boolean;
  readonly everyMs?: number;
}

const defaultCheckMs = 3_000;
const health = z.looseObject({ reasons: z.array(z.string()).optional() });

/**
 * A host whose disk is full in the middle of a run cannot even record that: the run stalls without an event. So
 * after a while of silence the host's health is polled, for as long as the silence lasts.
 */
export function watchForStall({
  client,
  onReasons,
  isWaiting,
  everyMs: checkMs = defaultCheckMs,
}: StallWatchDeps): StallWatch {
  let reported = "";
  const stopped = new AbortController();
  let timer = setTimeout(check, checkMs);

  function report(reasons: string): void {
    if (reasons !== reported && !stopped.signal.aborted) onReasons(reasons);
    reported = reasons;
  }

  function schedule(): void {
    clearTimeout(timer);
    if (!stopped.signal.aborted) timer = setTimeout(check, checkMs);
  }

  function check(): void {
    void (isWaiting() ? checkHealth() : Promise.resolve()).finally(schedule);
  }

  async function checkHealth(): Promise<void> {
    const result = await client.health({}, { signal: stopped.signal });
    // A host that does not answer is reported by the connection.
    if (result.ok) report(health.safeParse(result.value).data?.reasons?.join(" ") ?? "");
  }

  return {
    reset() {
      report("");
      schedule();
    },
    stop() {
      stopped.abort();
      clearTimeout(timer);
    },
  };
}
