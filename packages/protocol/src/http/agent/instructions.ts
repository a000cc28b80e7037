import { z } from "zod";

import { defineRoute } from "../define.ts";
import { revisionTag } from "../fields.ts";
import { instant } from "../views.ts";

/** Earlier texts, oldest first. */
export const earlierTexts = z.array(z.looseObject({ text: z.string(), at: instant }));

export const maxInstructionsCharacters = 4_000;

/** How the person wants to be answered. */
export const instructionsView = z.looseObject({
  /** Empty if there are none. */
  text: z.string(),
  /** `null` if there never were any. */
  changedAt: instant.nullable(),
  /** Counts its changes. A change names the one that it was made from; 0 is the first. */
  version: z.int().nonnegative(),
  versions: earlierTexts,
});
export type InstructionsView = z.infer<typeof instructionsView>;

const answer = {
  media: "json",
  status: 200,
  schema: z.looseObject({ instructions: instructionsView }),
} as const;

export const instructionsRoutes = {
  readInstructions: defineRoute({
    method: "GET",
    path: "/api/instructions",
    summary: "Your custom instructions, with their earlier texts",
    access: "principal",
    answer,
    problems: [],
    repeat: "safe",
  }),
  changeInstructions: defineRoute({
    method: "PUT",
    path: "/api/instructions",
    summary:
      "Change your custom instructions. New sessions start with them; an empty text deletes them, also from sessions that started with them",
    access: "principal",
    headers: z.object({ "if-match": revisionTag }),
    body: z.strictObject({ text: z.string().max(maxInstructionsCharacters) }),
    example: { text: "Answer in two sentences." },
    answer,
    problems: ["custom_instructions_changed"],
    repeat: "safe",
  }),
} as const;
