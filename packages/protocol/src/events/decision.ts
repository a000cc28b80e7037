import { z } from "zod";

import { laneKey } from "../ids.ts";
import { taintSources } from "../rights/taint.ts";

const sandboxNote = z.looseObject({ kind: z.string(), words: z.string() });
/** Who caused a call that was decided about. */
export const decisionFields = {
  /** The lane of the message. */
  lane: laneKey.optional(),
  /** The rights profile that the message had. */
  rights: z.string().optional(),
  /** What the model had read that a stranger may have written. */
  after: taintSources.optional(),
  /** What confines the process that it would start, or that nothing does and why: for people. */
  sandbox: sandboxNote.optional(),
};
/** In which circumstances a rule or an approval allowed a call. */
export const callDecision = z.looseObject(decisionFields);
export type CallDecision = z.infer<typeof callDecision>;

/** A file that a command names or loads, as it was when the person was asked. `hash` is null if it was not there. */
export const approvedFile = z.looseObject({ path: z.string(), hash: z.string().nullable() });
export type ApprovedFile = z.infer<typeof approvedFile>;
