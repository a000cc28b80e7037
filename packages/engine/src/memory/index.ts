export { type Boundary, MemoryKeeper, type MemoryKeeperDeps } from "./keeper.ts";
export { createRecall, type Question, type Recall } from "./recall.ts";
