import { z } from "zod";

import { scheduleId, sessionId } from "../ids.ts";
import { jsonObject } from "../parts.ts";
import { defineRoute } from "./define.ts";
import { countText, numberText } from "./fields.ts";
import { instant } from "./views.ts";

const count = z.int().nonnegative();

/** Total model usage. */
const usageTotals = z.looseObject({
  calls: count,
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite: count,
  /** Millionths of a dollar. */
  costMicros: count,
});
export type UsageTotalsView = z.infer<typeof usageTotals>;

const usageGroup = usageTotals.extend({
  /** The share of the input that the provider read from its cache; `null` if nothing was sent. */
  cachedShare: z.number().min(0).max(1).nullable(),
});
export type UsageGroupView = z.infer<typeof usageGroup>;

/** A spending limit, and what was spent of it. */
const spendLimit = z.looseObject({
  /** One answer, one conversation, or everything within 24 hours. Delegated tasks count for all three. */
  scope: z.enum(["run", "session", "day"]),
  /** Millionths of a dollar; `null` without a limit. */
  limitMicros: count.nullable(),
  /** `null` where nothing is running yet. */
  spentMicros: count.nullable(),
  /** Whether the conversation has a limit of its own. */
  own: z.boolean().optional(),
});
export type SpendLimitView = z.infer<typeof spendLimit>;

/** Completed turns that still wait for a memory provider. */
const memoryBacklog = z.looseObject({
  sessions: count,
  turns: count,
  /** When the oldest of these turns was completed. */
  oldestAt: instant.nullable(),
  /** The failure whose next try is furthest away. */
  failing: z
    .looseObject({
      sessionId,
      tries: count,
      retryAt: instant.nullable(),
      code: z.string(),
      message: z.string(),
    })
    .nullable(),
});

/** A compaction in progress, and who is doing it. */
const compactionLock = z.looseObject({
  sessionId,
  holder: z.looseObject({
    host: z.string(),
    pid: count,
    thread: count,
    agent: z.string(),
    nonce: z.string(),
  }),
  /** The holder renews it before then. */
  expiresAt: instant,
});

export const ledgerRoutes = {
  readUsage: defineRoute({
    method: "GET",
    path: "/api/usage",
    summary: "Tokens and cost, of a session or of all, since an instant or ever",
    access: "principal",
    query: z.strictObject({ sessionId: sessionId.optional(), since: countText.optional() }),
    answer: { media: "json", status: 200, schema: z.looseObject({ usage: usageTotals }) },
    problems: [],
    repeat: "safe",
  }),
  readUsageGroups: defineRoute({
    method: "GET",
    path: "/api/usage/groups",
    summary: "Tokens, cost and cached share of the last days, by day, model, session and schedule",
    access: "principal",
    query: z.strictObject({
      /** How many days, including today. 30 by default. */
      days: numberText(z.int().min(1).max(366)).optional(),
      /** Whose days, like `Europe/Berlin`. The host's by default. */
      timeZone: z.string().min(1).max(100).optional(),
    }),
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({
        timeZone: z.string(),
        total: usageGroup,
        /** Every day, oldest first. */
        days: z.array(usageGroup.extend({ day: z.iso.date() })),
        /** Those that cost most, at most 50 of each. */
        models: z.array(usageGroup.extend({ model: z.string() })),
        /** `title` is `null` for a session without one, or that was deleted. */
        sessions: z.array(usageGroup.extend({ sessionId, title: z.string().nullable() })),
        /** `title` is `null` for a schedule that was deleted. */
        schedules: z.array(usageGroup.extend({ scheduleId, title: z.string().nullable() })),
      }),
    },
    problems: [],
    repeat: "safe",
  }),
  readSpending: defineRoute({
    method: "GET",
    path: "/api/spending",
    summary: "The spending limits of a session or of everything, and what was spent against each",
    access: "principal",
    query: z.strictObject({ sessionId: sessionId.optional() }),
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ limits: z.array(spendLimit) }),
    },
    problems: ["session_not_found"],
    repeat: "safe",
  }),
  putSessionSpendLimit: defineRoute({
    method: "PUT",
    path: "/api/sessions/:id/spend-limit",
    summary:
      "Set a session's spending limit, which includes its delegated tasks; `null` removes it",
    access: "principal",
    params: z.strictObject({ id: sessionId }),
    body: z.strictObject({
      /** Millionths of a dollar. */
      limitMicros: count.max(1_000_000_000_000).nullable(),
    }),
    example: { limitMicros: 2_000_000 },
    answer: { media: "json", status: 200, schema: z.looseObject({ limit: spendLimit }) },
    problems: ["session_not_found"],
    repeat: "safe",
  }),
  readConfigSchema: defineRoute({
    method: "GET",
    path: "/api/config/schema",
    summary: "What config.json may hold, as a JSON schema",
    access: "principal",
    answer: { media: "json", status: 200, schema: jsonObject },
    problems: [],
    repeat: "safe",
  }),
  listCompactions: defineRoute({
    method: "GET",
    path: "/api/compactions",
    summary: "Compactions in progress, with the host, process and thread doing each",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ compactions: z.array(compactionLock) }),
    },
    problems: [],
    repeat: "safe",
  }),
  readMemory: defineRoute({
    method: "GET",
    path: "/api/memory",
    summary: "What still waits to be remembered",
    access: "principal",
    answer: { media: "json", status: 200, schema: z.looseObject({ backlog: memoryBacklog }) },
    problems: [],
    repeat: "safe",
  }),
} as const;
