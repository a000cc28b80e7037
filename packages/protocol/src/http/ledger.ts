import { z } from "zod";

import { sessionId } from "../ids.ts";
import { jsonObject } from "../parts.ts";
import { defineRoute } from "./define.ts";
import { countText } from "./fields.ts";
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
