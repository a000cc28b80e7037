import { z } from "zod";

import { reasoningEffort, runBudget } from "../../events/session.ts";
import { sessionMode } from "../../rights/session-mode.ts";
import { defineRoute } from "../define.ts";
import { idempotencyHeader, sessionParams } from "../sessions.ts";
import { skippedSkill } from "./skills.ts";

const agentName = z
  .string()
  .regex(/^[a-z0-9-]{1,64}$/u, "expected lower-case letters, digits and hyphens");

const agentHash = z.string().regex(/^[0-9a-f]{64}$/u, "expected the hash of the file");

/** An agent profile: what a child works by. */
export const agentView = z.looseObject({
  name: z.string(),
  description: z.string(),
  /** `home`: in the home of this host. `workspace`: in a session's workspace. */
  source: z.enum(["home", "workspace"]),
  /** Its file; of a workspace's profile from the workspace. */
  path: z.string(),
  /** `undecided` and `refused`: a workspace's profile that gets no tasks. */
  state: z.enum(["on", "off", "undecided", "refused"]),
  /** The file of another profile with this name, which counts in its place. */
  shadowedBy: z.string().nullable(),
  /** Of the file's content. */
  hash: z.string(),
  /** The prompt. */
  text: z.string(),
  /** The only tools that it may have; `null` for those of whoever gives it a task. */
  tools: z.array(z.string()).nullable(),
  /** A rights profile. */
  rights: z.string().nullable(),
  mode: sessionMode.nullable(),
  model: z.string().nullable(),
  effort: reasoningEffort.nullable(),
  budget: runBudget.nullable(),
  warnings: z.array(z.string()),
});
export type AgentView = z.infer<typeof agentView>;

const agentList = z.looseObject({ agents: z.array(agentView), skipped: z.array(skippedSkill) });
const listAnswer = { media: "json", status: 200, schema: agentList } as const;

const sessionAgents = z.looseObject({
  /** What the session's model can give tasks to. */
  available: z.array(z.looseObject({ name: z.string(), description: z.string() })),
  /** What the workspace has, whether or not it is trusted. */
  workspace: agentList,
});
export type SessionAgentsView = z.infer<typeof sessionAgents>;

const sessionAnswer = { media: "json", status: 200, schema: sessionAgents } as const;

export const agentRoutes = {
  listAgents: defineRoute({
    method: "GET",
    path: "/api/agents",
    summary:
      "The agent profiles of the person who runs the host, with those that are off or cannot be used",
    access: "principal",
    answer: listAnswer,
    problems: [],
    repeat: "safe",
  }),
  switchAgent: defineRoute({
    method: "PUT",
    path: "/api/agents/:name/state",
    summary: "Switch an agent profile on or off; it applies from a session's next run",
    access: "principal",
    params: z.strictObject({ name: agentName }),
    body: z.strictObject({ state: z.enum(["on", "off"]) }),
    example: { state: "off" },
    answer: listAnswer,
    problems: ["agent_not_found"],
    repeat: "safe",
  }),
  listSessionAgents: defineRoute({
    method: "GET",
    path: "/api/sessions/:id/agents",
    summary: "The agent profiles of a session, and those of its workspace that need a decision",
    access: "principal",
    params: sessionParams,
    answer: sessionAnswer,
    problems: ["session_not_found"],
    repeat: "safe",
  }),
  trustAgent: defineRoute({
    method: "POST",
    path: "/api/sessions/:id/agents/trust",
    summary:
      "Trust or refuse an agent profile of the workspace, with exactly the content that was read",
    access: "principal",
    params: sessionParams,
    body: z.strictObject({
      path: z.string().min(1).max(4_096),
      hash: agentHash,
      decision: z.enum(["trusted", "refused"]),
    }),
    example: { path: ".holdfast/agents/reviewer.md", hash: "0".repeat(64), decision: "refused" },
    answer: sessionAnswer,
    problems: ["session_not_found", "agent_not_found", "agent_changed"],
    headers: idempotencyHeader,
    repeat: "key",
  }),
} as const;
