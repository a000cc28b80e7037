import { z } from "zod";

import { processId, sessionId } from "../ids.ts";
import { defineRoute } from "./define.ts";
import { idempotencyHeader, sessionParams } from "./sessions.ts";

export const processView = z.looseObject({
  id: processId,
  sessionId,
  /** The command, possibly truncated. */
  command: z.string(),
  state: z.enum(["running", "stopping", "ended"]),
  /** How it ended, in words that complete "it …"; `null` while it runs. */
  end: z.string().nullable(),
  /** The machine it runs on. */
  host: z.string(),
  startedAt: z.int(),
  endedAt: z.int().nullable(),
});
export type ProcessView = z.infer<typeof processView>;

const processOutput = z.looseObject({
  process: processView,
  /** `null`: only the host that it runs on has it. */
  output: z.string().nullable(),
  /** Whether this is all of it; otherwise its beginning is left out. */
  isWhole: z.boolean(),
});

const withProcess = z.looseObject({ process: processView });

export const processRoutes = {
  listProcesses: defineRoute({
    method: "GET",
    path: "/api/sessions/:id/processes",
    summary: "The background processes that a session has started, the oldest first",
    access: "principal",
    params: sessionParams,
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ processes: z.array(processView) }),
    },
    problems: ["session_not_found"],
    repeat: "safe",
  }),
  readProcessOutput: defineRoute({
    method: "GET",
    path: "/api/processes/:id/output",
    summary: "The newest output of a background process",
    access: "principal",
    params: z.strictObject({ id: processId }),
    answer: { media: "json", status: 200, schema: processOutput },
    problems: ["process_not_found"],
    repeat: "safe",
  }),
  stopProcess: defineRoute({
    method: "POST",
    path: "/api/processes/:id/stop",
    summary: "End a background process; one that runs on another host ends there within seconds",
    access: "principal",
    params: z.strictObject({ id: processId }),
    headers: idempotencyHeader,
    answer: { media: "json", status: 200, schema: withProcess },
    problems: ["process_not_found"],
    repeat: "key",
  }),
} as const;
