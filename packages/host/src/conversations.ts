import {
  createLog,
  type Log,
  Runner,
  type RunLimits,
  type Store,
  StoreFailure,
  systemClock,
} from "@holdfast/engine";
import { ids } from "@holdfast/protocol";
import { createLiveness, currentHolder } from "@holdfast/store/identity";

import type { Config } from "./config/index.ts";
import type { NamedModel } from "./open-model.ts";
import { openTools } from "./tools/index.ts";

/** What carries conversations in this process: the door to their logs, and the one who works on them. */
export interface Conversations {
  readonly log: Log;
  readonly runner: Runner;
}

const limits: RunLimits = { steps: 100, timeMs: 60 * 60_000, modelTries: 5 };
const mostRuns = 1_000;
const systemText = "You are a helpful assistant.";

export function prepareConversations(
  { home, leaseMs, resume }: Pick<Config, "home" | "leaseMs" | "resume">,
  store: Store,
  model: NamedModel,
  report: (bug: Error) => void,
): Conversations {
  const log = createLog(store);
  const runner = new Runner({
    log,
    ids,
    clock: systemClock,
    random: Math.random,
    work: store.work,
    liveness: createLiveness(),
    holder: () => currentHolder("runner"),
    leaseMs: leaseMs.value,
    policy: resume.value,
    // Reads alone: what this process was told about needs no sweep, and what it was not is found well within a lease.
    sweepMs: leaseMs.value / 6,
    maxRuns: mostRuns,
    limits,
    tools: openTools({ home: home.value, store, environment: process.env }),
    modelFor: async () => model,
    system: async () => systemText,
    onError(error) {
      // A look through the store that was under way when the host stopped: that is no bug.
      if (error instanceof StoreFailure && error.code === "store_closed") return;
      report(error instanceof Error ? error : new Error(String(error)));
    },
  });
  return { log, runner };
}
