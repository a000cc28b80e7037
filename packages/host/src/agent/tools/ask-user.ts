import type { Tool } from "@holdfast/engine";
import { z } from "zod";

import { defineTool, failed, ok } from "./define-tool.ts";

const maxChoices = 10;

const input = z.strictObject({
  question: z.string().min(1).max(2_000),
  choices: z
    .array(z.string().min(1).max(200))
    .max(maxChoices)
    .optional()
    .describe("To choose from; the person may answer in other words."),
});

/** The run waits, durably and without a lease, for a person's answer, and continues with it on any node. */
export function createAskUser(): Tool {
  return defineTool({
    name: "ask_user",
    description: "Asks the person a question and waits for the answer.",
    input,
    replay: "safe",
    asks: "question",
    run: async (_, { answer }) =>
      answer === undefined ? failed("Nobody has answered.") : ok(answer),
  });
}
