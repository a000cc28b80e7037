import type { Mutant } from "../mutant.ts";
import { agentMutants } from "./agents.ts";
import { lockMutants } from "./compaction-lock.ts";
import { compactionMutants } from "./compaction.ts";
import { engineMutants } from "./engine.ts";
import { costMutants } from "./flat-cost.ts";
import { lastingMutants } from "./memory-lasts.ts";
import { memoryMutants } from "./memory.ts";
import { protocolMutants } from "./protocol.ts";
import { storeMutants } from "./stores.ts";

export const allMutants: readonly Mutant[] = [
  ...protocolMutants,
  ...lockMutants,
  ...compactionMutants,
  ...agentMutants,
  ...memoryMutants,
  ...lastingMutants,
  ...costMutants,
  ...engineMutants,
  ...storeMutants,
];
