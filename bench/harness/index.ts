export { bare, type Bound, type Line, ours } from "./figures.ts";
export {
  type Contender,
  interleave,
  interleaveApart,
  type Interleaved,
  LoopDelay,
  type Pace,
} from "./interleave.ts";
export { lineOf } from "./line-of.ts";
export { describeMachine } from "./machine.ts";
export { type BenchOptions, readOptions, usage } from "./options.ts";
export { Report } from "./report.ts";
export { Samples } from "./samples.ts";
export { dropScratch, dropScratchAtExit, makeScratch, scratchRoot } from "./scratch.ts";
export { chooseSizes, size, type SizesOf } from "./sizes.ts";
export { formatValue } from "./table.ts";
export { type Started, started, startTask, takeTask } from "./task.ts";
export { measureChosen, type Session, type WorkloadDefinition } from "./workload.ts";
