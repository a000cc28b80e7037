export type { IsPersons } from "./capture.ts";
export { type Boundary, MemoryKeeper, type MemoryKeeperDeps } from "./keeper.ts";
export { createRecall, type Question, type Recall } from "./recall.ts";
export { type ReviewFigures, Reviews, type ReviewsDeps } from "./reviews.ts";
