import {
  pendingNotices,
  type Reads,
  type RunRow,
  type Snapshot,
  withAmendments,
  viewSession,
  type CommitResult,
  restore,
  trash,
} from "@holdfast/engine";
import {
  entriesOf,
  foldLiveJournal,
  eventsInReadingOrder,
  type OwnerId,
  type Seq,
  type SessionId,
  type SessionRead,
} from "@holdfast/protocol";
import { hasChildTag, parentOf } from "../../automation/delegate/child-session.ts";
import type { ApiDeps } from "./deps.ts";
import { viewInput, viewRun } from "./messages.ts";
import type { Route } from "../http/routing.ts";
import {
  answer,
  type AnswerOf,
  type Call,
  mountCall,
  mountRead,
  problem,
  problemFrom,
  type Reply,
} from "./endpoint.ts";
import { listSessions } from "./session-list.ts";
import { modelProblem } from "./models.ts";

export interface PageQuery {
  readonly before?: Seq | undefined;
  readonly limit?: number | undefined;
}

const defaultEntryLimit = 100;

/** Everything a page shows of a session, from one snapshot, built by the reducer's own functions (P5). */
async function readSessionPage(
  { log, engine }: Pick<ApiDeps, "log" | "engine">,
  owner: OwnerId,
  id: SessionId,
  { limit = defaultEntryLimit, before }: PageQuery,
): Promise<SessionRead | null> {
  const { reads } = log.store;
  const query = { limit, ...(before !== undefined && { before }) };
  const page = before === undefined ? "newest" : "earlier";
  let snapshot = await reads.snapshot(owner, id, query);
  if (snapshot === null) return null;
  let visible = snapshot.entries.entries;
  if (pendingNotices(visible).length > 0) {
    visible = await withAmendments(reads, snapshot.session, visible, page);
    // A journal that a notice waits for may have turned up: this read then recovers it and shows it.
    if ((await engine.recoverLateJournals(owner, id, visible)) === "changed") {
      snapshot = (await reads.snapshot(owner, id, query)) ?? snapshot;
      visible = await withAmendments(reads, snapshot.session, snapshot.entries.entries, page);
    }
  }
  const { session, entries, inbox, journal } = snapshot;
  const parent = hasChildTag(session) ? await parentOf(reads, owner, id) : null;
  const run = snapshot.run ?? (await lastRun(reads, owner, snapshot));
  const first = entries.entries[0];
  return {
    session: { ...viewSession(session), ...(parent !== null && { parent }) },
    entries: [...entriesOf(visible)],
    run: run && viewRun(run),
    inbox: inbox.map(viewInput),
    seq: session.head,
    live: snapshot.run && foldLiveJournal(snapshot.run.id, journal),
    earlier: entries.more && first !== undefined ? first.seq : null,
  };
}

/**
 * How the last run ended. The snapshot only holds a live run, but the newest entry of a run names an ended one. Ended
 * runs never change, so reading it after the snapshot is as good as reading it within.
 */
async function lastRun(
  reads: Reads,
  owner: OwnerId,
  { entries }: Snapshot,
): Promise<RunRow | null> {
  const newest = eventsInReadingOrder(entries.entries).findLast(
    (event) => event.runId !== undefined,
  );
  return newest?.runId === undefined ? null : reads.run(owner, newest.runId);
}

type SessionAnswer = AnswerOf<"createSession">;

export function sessionRoutes(deps: ApiDeps): Route[] {
  const { log, toolset, memory } = deps;
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

  /** Refuses a bad workspace now rather than at the first tool call. */
  async function refuseWorkspace(owner: OwnerId, workspace: string | null | undefined) {
    const refusal = workspace == null ? null : await toolset.workspaces.refusal(owner, workspace);
    if (refusal === null) return null;
    return problem("invalid_request", { errors: [{ path: "workspace", message: refusal }] });
  }

  async function createSession({ owner, body, ids }: Call<"createSession">) {
    const { lane, previousSessionId, ...settings } = body;
    const invalidModel = modelProblem(deps.models, body.model);
    if (invalidModel !== null) return invalidModel;
    if (previousSessionId !== undefined && (await reads.session(owner, previousSessionId)) === null)
      return problem("session_not_found");
    const invalidWorkspace = await refuseWorkspace(owner, settings.workspace);
    if (invalidWorkspace !== null) return invalidWorkspace;
    const previousInLane = lane === undefined ? null : await reads.lane(owner, lane);
    const { session, result } = await log.createSession({
      owner,
      settings,
      ids,
      ...(lane !== undefined && { lane }),
    });
    if (result.status === "committed") {
      if (previousSessionId !== undefined)
        void memory.boundary(owner, previousSessionId, "new_session");
      if (previousInLane !== null && previousInLane !== session)
        void memory.boundary(owner, previousInLane, "lane_switch");
    }
    return showCommitted(result, owner, session);
  }

  async function changeSession({ owner, params, headers, body }: Call<"changeSession">) {
    const { id } = params;
    if (Object.keys(body).length === 0) return showSession(owner, id);
    const invalidModel = modelProblem(deps.models, body.model);
    if (invalidModel !== null) return invalidModel;
    const invalidWorkspace = await refuseWorkspace(owner, body.workspace);
    if (invalidWorkspace !== null) return invalidWorkspace;
    const revision = headers["if-match"] ?? null;
    const result = await log.changeSession(owner, id, body, revision);
    return showCommitted(result, owner, id);
  }

  /** Trashing a trashed session succeeds. */
  async function trashSession({ owner, params: { id } }: Call<"trashSession">) {
    deps.reviews.cancel(id);
    const result = await trash(deps, { owner, session: id });
    const isDone = result.status === "refused" && result.code === "session_trashed";
    return isDone ? showSession(owner, id) : showCommitted(result, owner, id);
  }

  async function restoreSession({ owner, params: { id }, ids }: Call<"restoreSession">) {
    const result = await restore({ ...deps, ids }, { owner, session: id });
    return showCommitted(result, owner, id);
  }

  return [
    mountCall(deps, "createSession", createSession),
    mountRead(deps, "listSessions", ({ owner, query }) => listSessions(log.store, owner, query)),
    mountCall(deps, "readSession", async ({ owner, params, query }) => {
      const read = await readSessionPage(deps, owner, params.id, query);
      return read === null ? problem("session_not_found") : answer(read);
    }),
    mountCall(deps, "changeSession", changeSession),
    mountCall(deps, "trashSession", trashSession),
    mountCall(deps, "restoreSession", restoreSession),
  ];
}

/** The instructions in a session's workspace, and whether a person trusts them. */
export function workspaceRoutes(deps: ApiDeps): Route[] {
  const { prompt } = deps;

  async function show({
    owner,
    params: { id: session },
  }: Pick<Call<"readWorkspace">, "owner" | "params">) {
    const state = await prompt.workspace({ owner, session });
    if (state === null) return problem("session_not_found");
    const { folder, instructions, trust } = state;
    return answer({ folder, trust, instructions: instructions && { ...instructions } });
  }

  async function decide({ owner, params, body }: Call<"trustWorkspace">) {
    const result = await prompt.decide({ owner, session: params.id }, body);
    switch (result) {
      case "kept":
        return show({ owner, params });
      case "changed":
        return problem("instructions_changed");
      case "busy":
        return problem("store_busy");
      case "not_found":
        return problem("session_not_found");
    }
  }

  return [mountCall(deps, "readWorkspace", show), mountCall(deps, "trustWorkspace", decide)];
}
