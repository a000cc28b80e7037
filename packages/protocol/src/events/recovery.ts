import { z } from "zod";

import { callId, eventId, messageId, runId } from "../ids.ts";
import { json } from "../parts.ts";
import { spillMark } from "./run.ts";

/** The three wordings of the one notice that a run leaves when its runner is gone. */
const recoveryKinds = ["recovering", "recovered", "nothing_recovered"] as const;
export type RecoveryKind = (typeof recoveryKinds)[number];

/** What a notice that says "recovering" keeps, so that whoever reads it next can go on looking. Gone when it is decided. */
const pendingRecovery = z.looseObject({
  spill: spillMark,
  /** How often a journal was found that had ended without output. */
  tries: z.int().nonnegative(),
  /** By the store's clock. */
  firstSeen: z.int().nonnegative(),
  /** The last output that the store had: what a journal repeats up to here is known. */
  upTo: eventId.optional(),
  /** The run went on without it. */
  resumed: z.literal(true).optional(),
  /** Tools that had been started and not seen to end. */
  tools: z
    .array(z.looseObject({ callId, resultId: messageId, name: z.string(), input: json }))
    .optional(),
});
export type PendingRecovery = z.infer<typeof pendingRecovery>;

const recoveryDetails = z.looseObject({ runId, recovery: pendingRecovery });

/** What is still to be looked for, if the details of a notice say so. */
export function pendingRecoveryIn(details: unknown): z.infer<typeof recoveryDetails> | undefined {
  return recoveryDetails.safeParse(details).data;
}
