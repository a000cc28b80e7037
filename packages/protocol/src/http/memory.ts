import { z } from "zod";

import { sessionId } from "../ids.ts";
import { taintSources } from "../rights/taint.ts";
import { defineRoute } from "./define.ts";
import { idempotencyHeader } from "./sessions.ts";

/** A fact that memory has not kept yet, because the model had read a stranger's text. */
export const waitingFactView = z.looseObject({
  id: z.string(),
  text: z.string(),
  /** Where it was said. */
  sessionId,
  at: z.int(),
  /** What the model had read. */
  after: taintSources,
});
export type WaitingFactView = z.infer<typeof waitingFactView>;

export const memoryRoutes = {
  listWaitingFacts: defineRoute({
    method: "GET",
    path: "/api/memory/waiting",
    summary: "Facts that need a person's approval before memory keeps them, oldest first",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ facts: z.array(waitingFactView) }),
    },
    problems: [],
    repeat: "safe",
  }),
  decideWaitingFact: defineRoute({
    method: "POST",
    path: "/api/memory/waiting/:id",
    summary: "Keep or discard a waiting fact",
    access: "principal",
    params: z.strictObject({ id: z.string().min(1).max(60) }),
    headers: idempotencyHeader,
    body: z.strictObject({ decision: z.enum(["keep", "discard"]) }),
    example: { decision: "keep" },
    answer: { media: "json", status: 200, schema: z.looseObject({ fact: waitingFactView }) },
    problems: ["fact_not_found", "memory_busy"],
    repeat: "key",
  }),
} as const;
