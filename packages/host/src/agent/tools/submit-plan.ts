import type { Tool } from "@holdfast/engine";
import { approvedMode, modeWords } from "@holdfast/protocol";
import { z } from "zod";

import { defineTool, failed, ok } from "./define-tool.ts";

/** Fits whole into a few messages of a chat: a plan that cannot be shown cannot be approved. */
const maxPlanLength = 20_000;

const input = z.strictObject({
  plan: z
    .string()
    .max(maxPlanLength)
    .refine((text) => text.trim() !== "", "expected a plan")
    .describe(
      "All that is to be done, step by step, in Markdown: files, commands, how it is checked.",
    ),
});

/**
 * How plan mode ends. The run waits for a person, whose answer switches the session's mode in the same commit; the model
 * itself cannot switch it.
 */
export function createSubmitPlan(): Tool {
  return defineTool({
    name: "submit_plan",
    description:
      "In plan mode: shows the person your whole plan and waits until they approve it or comment on it. Nothing is changed before.",
    input,
    replay: "safe",
    asks: "plan",
    onlyReads: true,
    async run(_, { answer }) {
      if (answer === undefined) return failed("Nobody has answered.");
      const mode = approvedMode(answer);
      return mode === null
        ? ok(`The person has not approved the plan and says:\n\n${answer}`)
        : ok(
            `The person has approved the plan. The session is now in the mode "${modeWords[mode].label}". Do as planned.`,
          );
    },
  });
}
