export {
  type Finding,
  type FindingCode,
  fsckExit,
  type FsckItem,
  type FsckSummary,
  type Repair,
} from "./findings.ts";
export { fsck, type FsckOptions, type FsckProgress, runFsck } from "./fsck.ts";
export type { FsckMode } from "./check-session.ts";
