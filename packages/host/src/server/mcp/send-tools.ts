import { createHash } from "node:crypto";
import { acceptInput, type Refused, type RunRow, type SendResult } from "@holdfast/engine";
import { problemError } from "@holdfast/client";
import {
  makeProblem,
  type RunId,
  runId,
  type Seq,
  type SessionId,
  sessionId,
  withTimeout,
} from "@holdfast/protocol";
import type { CallToolResult, McpServer, ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { ApiDeps } from "../api/deps.ts";
import { problemFrom } from "../api/endpoint.ts";
import { type McpCaller, mcpLane } from "./caller.ts";
import { readRunReport, runResult } from "./run-report.ts";
import { declaresTasks, taskCreated } from "./tasks.ts";
import { apiRefusal, resultOf, toolRefusal, toolResult } from "./tool-result.ts";
import { waitForRun } from "./wait-for-run.ts";

/** Below the minute after which many clients give a call up. */
const defaultWaitSeconds = 50;
const waitSeconds = z
  .int()
  .min(0)
  .max(600)
  .optional()
  .describe("How long to wait for the end of the run; by default 50");
/** An unresponsive database must not keep a client waiting: it can repeat the call with the same message_id. */
const admissionTimeoutMs = 10_000;

type SendDeps = Pick<ApiDeps, "log" | "engine" | "clock" | "ids" | "stopping">;

/** Sending a message, and what became of it. */
export function registerSendTools(server: McpServer, deps: SendDeps, caller: McpCaller): void {
  const { owner, client } = caller;

  server.registerTool(
    "session_send",
    {
      title: "Send a message",
      description:
        "Sends a message to the agent in a session, or begins a session with it. The agent goes on working whether or not this call is waited for. Repeating the call with the same message_id sends nothing twice.",
      inputSchema: z.object({
        text: z.string().min(1).max(1_000_000),
        message_id: z
          .string()
          .regex(/^[\x21-\x7e]{1,100}$/, "expected 1 to 100 printable characters without spaces")
          .describe("An id that you choose for this message; use it again only to retry"),
        session_id: sessionId.optional().describe("Without it, a new session begins"),
        wait_seconds: waitSeconds,
      }),
      annotations: { idempotentHint: true, openWorldHint: true },
    },
    async ({ text, message_id: messageId, session_id: given, wait_seconds: seconds }, ctx) => {
      const refused = given === undefined ? await refusalOf(messageId, text) : undefined;
      if (refused !== undefined) return sendRefusal(refused);
      const session = given ?? (await beginSession(messageId, text));
      if (typeof session !== "string") return session;
      const sent = await send(session, messageId, text);
      if (sent.status !== "accepted") return sendRefusal(sent);
      if (declaresTasks(ctx)) return taskCreated(await readRun(sent.runId));
      return waitAndReport(sent.runId, sent.seq, seconds, ctx);
    },
  );

  server.registerTool(
    "run_read",
    {
      title: "Read a run",
      description:
        "Says whether the agent is still working on a message, waits for a person, or is done, and then what it wrote.",
      inputSchema: z.object({ run_id: runId, wait_seconds: waitSeconds }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async ({ run_id: id, wait_seconds: seconds = 0 }, ctx) => {
      const run = await deps.log.store.reads.run(owner, id);
      const head = run && (await deps.log.store.reads.session(owner, run.session))?.head;
      if (run === null || head == null) return runNotFound();
      return waitAndReport(id, head, run.state === "waiting" ? 0 : seconds, ctx);
    },
  );

  server.registerTool(
    "run_cancel",
    {
      title: "Cancel a run",
      description: "Asks the agent to stop working on a message.",
      inputSchema: z.object({ run_id: runId }),
      annotations: { idempotentHint: true, destructiveHint: false, openWorldHint: false },
    },
    async ({ run_id: id }) =>
      resultOf(client.cancelRun({ params: { id } }), ({ run }) =>
        toolResult(`The run was asked to stop. It is ${run.state}.`, {
          run_id: run.id,
          session_id: run.sessionId,
          state: run.state,
        }),
      ),
  );

  /** Why no session could hold the message: none is begun for it. */
  async function refusalOf(messageId: string, text: string): Promise<Refused | undefined> {
    const session = deps.ids.make("session");
    return (await acceptInput(deps.ids, { owner, session, clientId: messageId, text })).refused;
  }

  /** The key is derived from the message, so a repeated call finds the session that the first one began. */
  async function beginSession(messageId: string, text: string) {
    const digest = createHash("sha256").update(`${messageId}\n${text}`).digest("hex");
    const created = await client.createSession({
      headers: { "idempotency-key": `mcp:${digest}` },
      body: {},
    });
    return created.ok ? created.value.session.id : apiRefusal(created.error);
  }

  /**
   * A program wrote the text, from whatever it had read: it counts as a stranger's, so wide rules do not apply and
   * memory keeps what comes of it only with a person's yes.
   */
  async function send(session: SessionId, messageId: string, text: string): Promise<SendResult> {
    const sent = await withTimeout({ clock: deps.clock, ms: admissionTimeoutMs }, () =>
      deps.engine.send({
        ids: deps.ids,
        owner,
        session,
        clientId: `mcp:${messageId}`,
        text,
        lane: mcpLane,
        taint: [{ kind: "mcp", name: "client" }],
      }),
    );
    if (sent.status === "done") return sent.value;
    return {
      status: "failed",
      code: "store_unknown",
      message: "The store did not answer in time.",
    };
  }

  async function waitAndReport(
    id: RunId,
    after: Seq,
    seconds: number = defaultWaitSeconds,
    ctx: ServerContext,
  ): Promise<CallToolResult> {
    const run = await readRun(id);
    if (seconds > 0) await waitForRun(deps, owner, { run, after, maxMs: seconds * 1_000 }, ctx);
    const report = await readRunReport(deps, owner, id);
    return report === null ? runNotFound() : runResult(report, caller);
  }

  /** A run exists as soon as its message is accepted. */
  async function readRun(id: RunId): Promise<RunRow> {
    const run = await deps.log.store.reads.run(owner, id);
    if (run === null) throw new Error(`The accepted run ${id} is not there.`);
    return run;
  }
}

function runNotFound(): CallToolResult {
  return toolRefusal(
    "run_not_found",
    "There is no such run. session_send and session_read name runs.",
  );
}

function sendRefusal(refused: Exclude<SendResult, { status: "accepted" }>): CallToolResult {
  const { code, details } = problemFrom(refused);
  return apiRefusal(problemError(makeProblem(code, details)));
}
