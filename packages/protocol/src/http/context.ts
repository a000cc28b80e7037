import { z } from "zod";

import { runId, seq, sessionId } from "../ids.ts";
import { defineRoute } from "./define.ts";
import { limitText } from "./fields.ts";
import { sessionParams } from "./sessions.ts";
import { instant } from "./views.ts";

const count = z.int().nonnegative();

/**
 * `costMicros` is in millionths of a dollar; `hitShare` is the share of what was sent that came from the provider's
 * cache, from 0 to 1.
 */
const usageView = z.looseObject({
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite: count,
  costMicros: count,
  calls: count,
  hitShare: z.number().nullable(),
});

/** A request that did not start with the whole previous one. */
const prefixChange = z.looseObject({
  seq,
  /** The first block that differs, and what it belongs to. */
  block: count,
  part: z.enum(["system", "tools", "conversation"]),
  /** `null`: nothing explains it, which is a bug in the host. */
  explainedBy: z.looseObject({ seq, type: z.string(), cause: z.string().nullable() }).nullable(),
});

export const contextView = z.looseObject({
  sessionId,
  model: z.string().nullable(),
  /** How many tokens the model takes; `null` if unknown. */
  windowTokens: count.nullable(),
  /** Estimates. */
  tokens: z.looseObject({
    system: count,
    tools: count,
    summary: count,
    user: count,
    assistant: count,
    tool: count,
    total: count,
  }),
  /** The parts of the system prompt that the session has, in order: persona, instructions, workspace, memory. */
  prompt: z.array(z.looseObject({ part: z.string(), tokens: count, text: z.string() })).optional(),
  /** What the context currently starts with; 0 is the conversation itself. */
  epoch: count,
  /** Newest first. */
  epochs: z.array(
    z.looseObject({
      epoch: count,
      seq,
      at: instant,
      covers: z.looseObject({ from: seq, to: seq }).nullable(),
      /** The epoch it restores. */
      restores: count.nullable(),
    }),
  ),
  /** Newest first. */
  turns: z.array(
    z.looseObject({
      runId,
      seq,
      at: instant,
      model: z.string().nullable(),
      requests: count,
      changes: z.array(prefixChange),
      usage: usageView,
    }),
  ),
  totals: usageView,
  /** There are turns or epochs before these. */
  more: z.boolean(),
});
export type ContextView = z.infer<typeof contextView>;

export const contextRoutes = {
  readContext: defineRoute({
    method: "GET",
    path: "/api/sessions/:id/context",
    summary:
      "What the model gets: tokens by kind, epochs, and what each turn's cache and cost were",
    access: "principal",
    params: sessionParams,
    query: z.strictObject({ turns: limitText.optional() }),
    answer: { media: "json", status: 200, schema: contextView },
    problems: ["session_not_found"],
    repeat: "safe",
  }),
} as const;
