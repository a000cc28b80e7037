export { describeCall } from "./describe-call.ts";
export { endInWords, exitOf, outcomeInWords, runExit } from "./ends.ts";
export { type Piece, Presenter } from "./present.ts";
export { block, RowMaker } from "./rows.ts";
