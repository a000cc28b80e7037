import type { Client } from "@holdfast/client";
import { z } from "zod";

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
