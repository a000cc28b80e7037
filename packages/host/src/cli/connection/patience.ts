import type { ApiError, ConnectionState, Result } from "@holdfast/client";
import { sleep } from "./wait-for-host.ts";

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
