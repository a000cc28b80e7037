import { z } from "zod";

import { defineRoute } from "./define.ts";
import { idempotencyHeader, sessionParams } from "./sessions.ts";

export const workspaceView = z.looseObject({
  folder: z.string(),
  /** The workspace's instruction file for agents; `null` if there is none. */
  instructions: z.looseObject({ file: z.string(), text: z.string(), hash: z.string() }).nullable(),
  /** For exactly this text. Only trusted text becomes part of a session's frame. */
  trust: z.enum(["trusted", "refused", "undecided"]),
});
export type WorkspaceView = z.infer<typeof workspaceView>;

const common = { access: "principal", params: sessionParams } as const;

export const workspaceRoutes = {
  readWorkspace: defineRoute({
    ...common,
    method: "GET",
    path: "/api/sessions/:id/workspace",
    summary: "What the session's workspace says to agents, and whether that is trusted",
    answer: { media: "json", status: 200, schema: workspaceView },
    problems: ["session_not_found"],
    repeat: "safe",
  }),
  trustWorkspace: defineRoute({
    ...common,
    method: "POST",
    path: "/api/sessions/:id/workspace/trust",
    summary: "Trust or refuse what the workspace says to agents, in the words that were read",
    body: z.strictObject({
      hash: z.string().regex(/^[0-9a-f]{64}$/, "expected the hash of the text"),
      decision: z.enum(["trusted", "refused"]),
    }),
    example: { hash: "0".repeat(64), decision: "refused" },
    answer: { media: "json", status: 200, schema: workspaceView },
    problems: ["session_not_found", "instructions_changed"],
    headers: idempotencyHeader,
    repeat: "key",
  }),
} as const;
