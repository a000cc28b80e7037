import type { ApiError, ConnectionState, Result } from "@holdfast/client";
import { pause } from "./wait-for-host.ts";

/** How long a host that is away is waited for. Aborts `over` when it has been away for longer than that. */
export interface Patience {
  readonly over: AbortSignal;
  /** To be told how the connection stands. */
  readonly tell: (state: ConnectionState) => void;
  /** Asks until there is an answer, or until the host has been away for too long. */
  untilAnswered<T>(ask: () => Promise<Result<T>>): Promise<Result<T>>;
  end(): void;
}

const pauseMs = 400;

export function createPatience(boundMs: number): Patience {
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
    over: over.signal,
    tell: (state) => (state === "live" ? back() : away()),
    async untilAnswered(ask) {
      for (;;) {
        const result = await ask();
        if (result.ok || !mayPass(result.error)) {
          back();
          return result;
        }
        away();
        if (over.signal.aborted) return result;
        await pause(pauseMs, over.signal);
        if (over.signal.aborted) return result;
      }
    },
    end: back,
  };
}

/** What is over when a person has mended it, and not by itself: they had better hear of it at once. */
const forAPerson: ReadonlySet<string> = new Set(["internal", "store_full", "store_unwritable"]);

/** Whether waiting may help: no answer, or a host that is starting, stopping or overloaded. */
function mayPass(error: ApiError): boolean {
  if (error.kind === "network") return true;
  if (error.kind === "problem") return error.problem.status >= 500 && !forAPerson.has(error.code);
  return error.kind === "unexpected" && error.status >= 500;
}
