export { describeCall } from "./describe-call.ts";
export { endInWords, exitOf, outcomeInWords, runExit } from "./ends.ts";
export type { Piece } from "./piece.ts";
export { Presenter } from "./present.ts";
export { block, type PieceRows, RowMaker } from "./rows.ts";
