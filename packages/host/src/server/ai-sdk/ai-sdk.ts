import type { Client } from "@holdfast/client";
import {
  approvalId,
  type ApprovalId,
  type OwnerId,
  type RunId,
  type SessionId,
} from "@holdfast/protocol";
import { openRightsResolver } from "../../rights/resolve-rights.ts";
import { createCallerClient } from "../caller-client.ts";
import { openEventStream } from "../http/event-stream.ts";
import {
  mountProtocolRoute,
  type Protocol,
  type ProtocolCall,
  type ProtocolProblem,
} from "../http/protocol.ts";
import type { ProtocolDeps } from "../protocols.ts";
import { findRunStart } from "../run-output/read-run-output.ts";
import { type ApprovalResponse, approvalResponses, chatRequest } from "./chat-request.ts";
import {
  type ChatCaller,
  laneOfChat,
  placeMessage,
  type Placed,
  sessionOfChat,
} from "./place-message.ts";
import { encodeProblem, invalid, problemOf } from "./problems.ts";
import { streamRun, type StreamedRun } from "./stream-run.ts";

const prefix = "/ai";
/** Histories are long, and images come inside of them. */
const maxRequestBytes = 32 * 1024 * 1024;
/** A client that was away when a run ended gets its message as long as it may still be missed. */
const replayEndedMs = 10 * 60_000;

const streamForm = { headers: { "x-vercel-ai-ui-message-stream": "v1" } };

const answersNone = {
  problem: { code: "forbidden", details: { detail: "These rights answer no approvals." } },
} as const;

/** The AI SDK's UI message stream, for `useChat` with `resume`. */
export function aiSdkProtocol(deps: ProtocolDeps): Protocol {
  const { log } = deps;
  const { reads } = log.store;
  const rights = openRightsResolver(log.store.register);

  async function mayAnswer(owner: OwnerId, chatId: string): Promise<boolean> {
    return (await rights.ofLane(owner, laneOfChat(chatId))).approvals;
  }

  function respond(call: ProtocolCall, run: StreamedRun): Response {
    return openEventStream(call.c, deps, (stream) => streamRun(deps, run, stream), streamForm);
  }

  async function postChat(call: ProtocolCall): Promise<Response | ProtocolProblem> {
    const { c, owner } = call;
    const body: unknown = await c.req.json().catch(() => undefined);
    if (body === undefined) return { code: "malformed_json" };
    const request = chatRequest.safeParse(body);
    if (!request.success) {
      const [issue] = request.error.issues;
      return invalid(issue?.path.join(".") ?? "", issue?.message ?? "invalid").problem;
    }
    const caller = { owner, client: createCallerClient(deps, c) };
    const { id, newest } = request.data;
    const responses = newest.role === "assistant" ? approvalResponses(newest) : [];
    const canAnswer = await mayAnswer(owner, id);
    if (responses.length > 0) {
      if (!canAnswer) return answersNone.problem;
      const answered = await answer(caller, id, responses);
      if ("problem" in answered) return answered.problem;
      const after = new Set(responses.map((response) => response.id as ApprovalId));
      return respond(call, { ...answered, owner, mayAnswer: canAnswer, after });
    }
    const placed = await placeMessage(deps, caller, request.data);
    if ("problem" in placed) return placed.problem;
    return respond(call, { ...placed, owner, mayAnswer: canAnswer });
  }

  /** Each answer counts once: an approval that was answered meanwhile keeps its answer, and the stream shows it. */
  async function answer(
    { owner, client }: ChatCaller,
    chatId: string,
    responses: readonly ApprovalResponse[],
  ): Promise<Placed> {
    const rows = await Promise.all(
      responses.map(async ({ id }) => {
        const known = approvalId.safeParse(id);
        return known.success ? reads.approval(owner, known.data) : null;
      }),
    );
    const [first] = rows;
    // The rights were those of this chat: they count for no other one.
    const ofChat = await sessionOfChat(deps, owner, chatId);
    const isOfChat = first != null && first.session === ofChat;
    if (!isOfChat || rows.some((row) => row?.runId !== first.runId))
      return invalid("messages", "expected approvals of one run of this chat");
    // A session's own id is a chat id too, and no way around the rights of the chat that asks.
    const asking = first.details.lane;
    if (asking?.startsWith("ai:") === true && !(await rights.ofLane(owner, asking)).approvals)
      return answersNone;
    for (const [index, { approved, reason }] of responses.entries()) {
      const row = rows[index];
      if (row == null || row.state !== "open") continue;
      const isQuestion = row.details.kind === "question";
      if (isQuestion && approved && !reason)
        return invalid("messages", "expected the answer to the question as the reason");
      const result = await client.answerApproval({
        params: { id: row.id },
        body: {
          decision: approved ? "once" : "deny",
          ...(isQuestion && approved && { answer: reason }),
        },
      });
      if (!result.ok && result.error.code !== "approval_answered") return problemOf(result.error);
    }
    const { session, runId } = first;
    const begun = await findRunStart(reads, { owner, session, runId });
    return begun === null ? { problem: { code: "run_not_found" } } : { session, runId, begun };
  }

  async function resume(call: ProtocolCall): Promise<Response | ProtocolProblem> {
    const { c, owner } = call;
    const chatId = c.req.param("id") ?? "";
    const session = await sessionOfChat(deps, owner, chatId);
    const runId = session === null ? null : await currentRun(createCallerClient(deps, c), session);
    if (session === null || runId === null) return c.body(null, 204);
    const begun = await findRunStart(reads, { owner, session, runId });
    if (begun === null) return c.body(null, 204);
    const canAnswer = await mayAnswer(owner, chatId);
    return respond(call, { owner, session, runId, begun, mayAnswer: canAnswer });
  }

  /** The run whose message is being written or waits to be, or was just finished. */
  async function currentRun(client: Client, id: SessionId): Promise<RunId | null> {
    const read = await client.readSession({ params: { id }, query: { limit: 1 } });
    if (!read.ok) return null;
    const { run, inbox } = read.value;
    const [queued] = inbox;
    if (run !== null && run.endedAt === null) return run.id;
    if (queued !== undefined) return queued.runId;
    const isRecent = run?.endedAt != null && (await log.store.now()) - run.endedAt < replayEndedMs;
    return run !== null && isRecent ? run.id : null;
  }

  /** P6: leaving is not stopping, so a stop is a request of its own. */
  async function stop({ c, owner }: ProtocolCall): Promise<Response | ProtocolProblem> {
    const session = await sessionOfChat(deps, owner, c.req.param("id") ?? "");
    const row = session && (await reads.session(owner, session));
    const body: unknown = await c.req.json().catch(() => null);
    const meant = typeof body === "object" && body !== null && "activeStreamId" in body;
    const live = row?.liveRun ?? null;
    // A stop that comes late must not end the next run.
    if (live === null || (meant && body.activeStreamId !== live)) return c.body(null, 204);
    const client = createCallerClient(deps, c);
    const cancelled = await client.cancelRun({ params: { id: live } });
    return cancelled.ok ? c.body(null, 204) : problemOf(cancelled.error).problem;
  }

  return {
    name: "ai-sdk",
    prefix,
    routes: [
      mountProtocolRoute(deps, {
        method: "POST",
        path: `${prefix}/chat`,
        largestBody: maxRequestBytes,
        handle: postChat,
      }),
      mountProtocolRoute(deps, {
        method: "GET",
        path: `${prefix}/chat/:id/stream`,
        handle: resume,
      }),
      mountProtocolRoute(deps, { method: "POST", path: `${prefix}/chat/:id/stop`, handle: stop }),
    ],
    encodeProblem,
  };
}
