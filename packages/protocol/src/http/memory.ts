import { z } from "zod";

import { sessionId } from "../ids.ts";
import { taintSources } from "../rights/taint.ts";
import { defineRoute } from "./define.ts";
import { limitText, revisionTag } from "./fields.ts";
import { idempotencyHeader } from "./sessions.ts";
import { instant } from "./views.ts";

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

/** Every session starts with it, or it is recalled for messages that it fits. */
export const factUse = z.enum(["always", "when_it_fits"]);
export type FactUse = z.infer<typeof factUse>;

/**
 * Where a fact came from: a person `said` it in a session, a `review` of the session or a `tool` call found it, a
 * `person` added it, or it was written into a `file`.
 */
export const factSource = z.looseObject({
  kind: z.enum(["said", "review", "tool", "person", "file"]),
  sessionId: sessionId.optional(),
  file: z.string().optional(),
});
export type FactSource = z.infer<typeof factSource>;

/** Something that is known about the owner. */
export const factView = z.looseObject({
  id: z.string(),
  text: z.string(),
  use: factUse,
  /** `waiting`: it is used only after a person's yes. */
  state: z.enum(["kept", "waiting"]),
  source: factSource,
  at: instant,
  changedAt: instant,
  /** Counts its changes. A change names the one that it was made from. */
  version: z.int().positive(),
  /** Earlier texts, oldest first. */
  versions: z.array(z.looseObject({ text: z.string(), at: instant })),
  /** What the model had read. */
  after: taintSources,
});
export type FactView = z.infer<typeof factView>;

const factText = z.string().min(1).max(2_000);
const factParams = z.strictObject({ id: z.string().min(1).max(60) });
const oneFact = {
  media: "json",
  status: 200,
  schema: z.looseObject({ fact: factView }),
} as const;

export const memoryRoutes = {
  listFacts: defineRoute({
    method: "GET",
    path: "/api/memory/facts",
    summary:
      "What is known about you, newest first, or only the facts that contain all these words",
    access: "principal",
    query: z.strictObject({ q: z.string().max(200).optional(), limit: limitText.optional() }),
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({
        facts: z.array(factView),
        /** How many there are, including those that are not listed. */
        total: z.int().nonnegative(),
      }),
    },
    problems: [],
    repeat: "safe",
  }),
  addFact: defineRoute({
    method: "POST",
    path: "/api/memory/facts",
    summary: "Add a fact; if there is one with this text, the answer is that one",
    access: "principal",
    headers: idempotencyHeader,
    body: z.strictObject({ text: factText, use: factUse.optional() }),
    example: { text: "I prefer short answers", use: "always" },
    answer: oneFact,
    problems: [],
    repeat: "key",
  }),
  readFact: defineRoute({
    method: "GET",
    path: "/api/memory/facts/:id",
    summary: "One fact with its earlier texts",
    access: "principal",
    params: factParams,
    answer: oneFact,
    problems: ["fact_not_found"],
    repeat: "safe",
  }),
  changeFact: defineRoute({
    method: "PATCH",
    path: "/api/memory/facts/:id",
    summary: "Change a fact, if it still has the version that the change was made from",
    access: "principal",
    params: factParams,
    headers: z.object({ "if-match": revisionTag }),
    body: z.strictObject({ text: factText.optional(), use: factUse.optional() }),
    example: { text: "I prefer long answers" },
    answer: oneFact,
    problems: ["fact_not_found", "fact_changed"],
    repeat: "safe",
  }),
  removeFact: defineRoute({
    method: "DELETE",
    path: "/api/memory/facts/:id",
    summary: "Delete a fact with its earlier texts; no model gets it from then on",
    access: "principal",
    params: factParams,
    headers: z.object({ "if-match": revisionTag.optional() }),
    answer: { media: "none", status: 204 },
    problems: ["fact_not_found", "fact_changed"],
    repeat: "safe",
  }),
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
