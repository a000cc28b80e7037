import { type CommitResult, restore, trash, viewSession } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";

import type { Route } from "../http/route.ts";
import { type AnswerOf, type Call, mountCall, mountRead } from "./contract.ts";
import { listSessions } from "./session-list.ts";
import { modelProblem } from "./models.ts";
import type { ApiDeps } from "./deps.ts";
import { readSessionPage } from "./sessions.ts";
import { answer, problem, problemFrom, type Reply } from "./reply.ts";

type SessionAnswer = AnswerOf<"createSession">;

export function sessionRoutes(parts: ApiDeps): Route[] {
  const { log, toolset: hands, memory } = parts;
  const { reads } = log.store;

  async function showSession(owner: OwnerId, id: SessionId): Promise<Reply<SessionAnswer>> {
    const row = await reads.session(owner, id);
    return row === null ? problem("session_not_found") : answer({ session: viewSession(row) });
  }

  async function showCommitted(
    result: CommitResult,
    owner: OwnerId,
    id: SessionId,
  ): Promise<Reply<SessionAnswer>> {
    return result.status === "committed" ? showSession(owner, id) : problemFrom(result);
  }

  /** Where tools may work is told at once rather than when the first of them does. */
  async function refuseWorkspace(owner: OwnerId, named: string | null | undefined) {
    const words = named == null ? null : await hands.workspaces.refusal(owner, named);
    if (words === null) return null;
    return problem("invalid_request", { errors: [{ path: "workspace", message: words }] });
  }

  async function createSession({ owner, body, ids }: Call<"createSession">) {
    const { lane, previousSessionId, ...settings } = body;
    const objection = modelProblem(parts.models, body.model);
    if (objection !== null) return objection;
    if (previousSessionId !== undefined && (await reads.session(owner, previousSessionId)) === null)
      return problem("session_not_found");
    const unfit = await refuseWorkspace(owner, settings.workspace);
    if (unfit !== null) return unfit;
    const left = lane === undefined ? null : await reads.lane(owner, lane);
    const { session, result } = await log.createSession({
      owner,
      settings,
      ids,
      ...(lane !== undefined && { lane }),
    });
    if (result.status === "committed") {
      if (previousSessionId !== undefined)
        void memory.boundary(owner, previousSessionId, "new_session");
      if (left !== null && left !== session) void memory.boundary(owner, left, "lane_switch");
    }
    return showCommitted(result, owner, session);
  }

  async function changeSession({ owner, params, headers, body }: Call<"changeSession">) {
    const { id } = params;
    if (Object.keys(body).length === 0) return showSession(owner, id);
    const objection = modelProblem(parts.models, body.model);
    if (objection !== null) return objection;
    const unfit = await refuseWorkspace(owner, body.workspace);
    if (unfit !== null) return unfit;
    const revision = headers["if-match"] ?? null;
    const result = await log.changeSession(owner, id, body, revision);
    return showCommitted(result, owner, id);
  }

  /** Trashing what is in the trash is done already. */
  async function trashSession({ owner, params: { id } }: Call<"trashSession">) {
    parts.reviews.cancel(id);
    const result = await trash(parts, { owner, session: id });
    const isDone = result.status === "refused" && result.code === "session_trashed";
    return isDone ? showSession(owner, id) : showCommitted(result, owner, id);
  }

  async function restoreSession({ owner, params: { id }, ids }: Call<"restoreSession">) {
    const result = await restore({ ...parts, ids }, { owner, session: id });
    return showCommitted(result, owner, id);
  }

  return [
    mountCall(parts, "createSession", createSession),
    mountRead(parts, "listSessions", ({ owner, query }) => listSessions(log.store, owner, query)),
    mountCall(parts, "readSession", async ({ owner, params, query }) => {
      const read = await readSessionPage(parts, owner, params.id, query);
      return read === null ? problem("session_not_found") : answer(read);
    }),
    mountCall(parts, "changeSession", changeSession),
    mountCall(parts, "trashSession", trashSession),
    mountCall(parts, "restoreSession", restoreSession),
  ];
}
