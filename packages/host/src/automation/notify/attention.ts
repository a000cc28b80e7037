import { createHash } from "node:crypto";

import { approvalId, runId, seq, sessionId } from "@holdfast/protocol";
import { z } from "zod";

/** Why a person is needed. The names are stable: whoever is told sorts by them. */
export const attentionType = z.enum([
  "approval_waiting",
  "question_waiting",
  "run_failed",
  "run_interrupted",
  "run_paused",
  "run_limit",
  "spend_limit",
  "memory_stuck",
]);
export type AttentionType = z.infer<typeof attentionType>;

export const attention = z.object({
  /** Follows from what happened: whoever finds it, and however often, it is the same. */
  id: z.string(),
  type: attentionType,
  session: sessionId,
  /** When it happened, by the store's clock. */
  at: z.int(),
  runId: runId.optional(),
  approvalId: approvalId.optional(),
  /** Where it stands in the session's log. */
  seq: seq.optional(),
  /** A stable code. */
  cause: z.string().max(100).optional(),
});
export type Attention = z.infer<typeof attention>;

export function attentionId(...facts: readonly (string | number)[]): string {
  return `ntf_${createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16)}`;
}

const instructions: Record<AttentionType, string> = {
  approval_waiting: "A tool waits for your word. Open the session to allow or deny it.",
  question_waiting: "The agent has asked you something. Open the session to answer.",
  run_failed: "A run has failed. Open the session to see why, and to try again.",
  run_interrupted: "A run was interrupted. Open the session to go on with it.",
  run_paused: "A run was interrupted and waits. Open the session to let it go on.",
  run_limit: "A run has reached a limit. Open the session to go on with it.",
  spend_limit: "A spend limit was reached. Raise it, or wait.",
  memory_stuck: "Completed turns could not be remembered for more than an hour. Look at memory.",
};

export function instructionFor(type: AttentionType): string {
  return instructions[type];
}
