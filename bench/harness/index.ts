export { isChosen, unbound } from "./choose.ts";
export { bare, type Bound, type Line, ours, type Unit, type Workload } from "./figures.ts";
export {
  type Contender,
  interleave,
  interleaveApart,
  type Interleaved,
  LoopDelay,
  type Pace,
} from "./interleave.ts";
export { describeMachine } from "./machine.ts";
export { type BenchOptions, readOptions, usage } from "./options.ts";
export { Report } from "./report.ts";
export { Samples } from "./samples.ts";
export { dropScratch, dropScratchAtExit, makeScratch, scratchRoot } from "./scratch.ts";
export { formatValue } from "./table.ts";
