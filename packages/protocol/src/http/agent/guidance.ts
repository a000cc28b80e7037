import { z } from "zod";

import { defineRoute } from "../define.ts";
import { revisionTag } from "../fields.ts";
import { instant } from "../views.ts";
import { earlierTexts } from "./instructions.ts";

/** What the agent is told about the host, and about its tools. */
export const guidanceParts = ["guidance", "tools"] as const;
export type GuidancePart = (typeof guidanceParts)[number];
export const maxGuidanceCharacters = 4_000;

export const guidanceView = z.looseObject({
  part: z.enum(guidanceParts),
  /** What new sessions start with. */
  text: z.string(),
  /** What it says unless somebody changes it. */
  builtIn: z.string(),
  /** `null` if nobody ever changed it. */
  changedAt: instant.nullable(),
  /** Counts its changes. A change names the one that it was made from; 0 is the first. */
  version: z.int().nonnegative(),
  versions: earlierTexts,
});
export type GuidanceView = z.infer<typeof guidanceView>;

export const guidanceRoutes = {
  listGuidance: defineRoute({
    method: "GET",
    path: "/api/guidance",
    summary: "What the agent is told about this host and about its tools",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ guidance: z.array(guidanceView) }),
    },
    problems: [],
    repeat: "safe",
  }),
  changeGuidance: defineRoute({
    method: "PUT",
    path: "/api/guidance/:part",
    summary:
      "Change what the agent is told. New sessions start with it; an empty text returns to the built-in one",
    access: "principal",
    params: z.strictObject({ part: z.enum(guidanceParts) }),
    headers: z.object({ "if-match": revisionTag }),
    body: z.strictObject({ text: z.string().max(maxGuidanceCharacters) }),
    example: { text: "- Answer in British English." },
    answer: { media: "json", status: 200, schema: z.looseObject({ guidance: guidanceView }) },
    problems: ["guidance_changed"],
    repeat: "safe",
  }),
} as const;
