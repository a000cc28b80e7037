import { randomUUID } from "node:crypto";
import { threadId } from "node:worker_threads";

import type { Holder, Liveness } from "@holdfast/engine";

import { factsOf, type ProcessFacts, type SystemFacts, thisSystem } from "./process-facts.ts";

export { holderSchema } from "./identity.ts";
export { factsOf, type ProcessFacts, type SystemFacts } from "./process-facts.ts";

let ownFacts: ProcessFacts | undefined;

/** This process, this thread and the agent that asks: an identity that nobody else ever has. */
export function currentHolder(agent: string, thread: number = threadId): Holder {
  ownFacts ??= factsOf(process.pid);
  return { ...ownFacts, thread, agent, nonce: randomUUID() };
}

/**
 * Tells whether a holder is dead, by proof alone: same machine, same boot, same pid namespace, and either no
 * process has its pid or the one that has it started at another time. Everything else is not known.
 */
export function createLiveness(system: SystemFacts = thisSystem): Liveness {
  return {
    isDead(holder) {
      if (holder.boot === null || holder.pidNamespace === null || holder.processStart === null)
        return "unknown";
      if (holder.host !== system.host()) return "unknown";
      if (holder.boot !== system.boot() || holder.pidNamespace !== system.pidNamespace())
        return "unknown";
      const start = system.startOf(holder.pid);
      if (start === null) return "unknown";
      return start === holder.processStart ? "alive" : "dead";
    },
  };
}
