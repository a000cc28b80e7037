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
  defaultMode,
  entriesOf,
  foldLiveJournal,
  eventsInReadingOrder,
  isUnlimited,
  isWiderMode,
  type OwnerId,
  ownerRights,
  type Rights,
  type Seq,
  type SessionId,
  type SessionRead,
} from "@holdfast/protocol";
import { worktreeIdOf } from "../../agent/worktrees/worktree-record.ts";
import { describeWork } from "../../agent/worktrees/worktree-routes.ts";
import { hasChildTag, parentOf } from "../../automation/delegate/child-session.ts";
import { openProjectStore } from "../../agent/instructions/project-store.ts";
import { openRightsResolver } from "../../rights/resolve-rights.ts";
import { modeForNew, refuseMode } from "../../rights/session-modes.ts";
import type { Principal } from "../auth/principal.ts";
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
    session: {
      ...viewSession(session),
      alternatives: session.alternatives.map((set) => [...set]),
      ...(parent !== null && { parent }),
    },
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

const beyondKey =
  "An API key works in folders of its own: name a folder without a path, or give the key the profile owner.";

export function sessionRoutes(deps: ApiDeps): Route[] {
  const { log, toolset, memory } = deps;
  const { reads } = log.store;
  const rights = openRightsResolver(log.store.register);
  const projects = openProjectStore(log.store.register);

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
  async function refuseWorkspace(
    { owner, principal }: Pick<Call<"createSession">, "owner" | "principal">,
    workspace: string | null | undefined,
  ) {
    if (workspace == null) return null;
    const { workspaces } = toolset;
    // Reading there asks nobody, and the operator's folders are the owner's.
    const isBeyondKey =
      principal.by === "api-key" &&
      workspaces.isOperators(workspace) &&
      !isUnlimited(await rights.ofLane(owner, null));
    const refusal = isBeyondKey ? beyondKey : await workspaces.refusal(owner, workspace);
    if (refusal === null) return null;
    return problem("invalid_request", { errors: [{ path: "workspace", message: refusal }] });
  }

  /** Of whoever calls: the owner answers approvals, and an API key does if its profile says so. */
  async function callerRights(owner: OwnerId, { by }: Principal): Promise<Rights> {
    return by === "api-key" ? rights.ofLane(owner, null) : ownerRights;
  }

  /** A mode that was asked for by name is not narrowed silently. */
  async function modeOfNew({ owner, principal, body: { lane, mode } }: Call<"createSession">) {
    const caller = await callerRights(owner, principal);
    if (mode === undefined) {
      const { approvals } = await rights.ofLane(owner, lane ?? null);
      return modeForNew(deps.newSessionMode(), { approvals: caller.approvals && approvals });
    }
    return isWiderMode(mode, defaultMode) && !caller.approvals ? "too wide" : { mode };
  }

  /** What its project says, as far as it still can be used. */
  async function projectDefaults(owner: OwnerId, { project }: Call<"createSession">["body"]) {
    const found = await projects.named(owner, project ?? null);
    if (found === null) return {};
    const { workspace, persona, model } = found;
    const isPersona = persona !== null && (await deps.personas.resolve(persona)).id === persona;
    return {
      ...(workspace !== null && { workspace }),
      ...(isPersona && { persona }),
      ...(model !== null && modelProblem(deps.models, model) === null && { model }),
    };
  }

  /** Its model, if nobody names one and it can be used. */
  async function personaForNew({
    persona: id,
    model,
  }: Pick<Call<"createSession">["body"], "persona" | "model">) {
    const persona = await deps.personas.resolve(id ?? null);
    if (id !== undefined && persona.id !== id) return "not_found";
    const isUsable = persona.model !== null && modelProblem(deps.models, persona.model) === null;
    return model === undefined && isUsable ? { model: persona.model } : {};
  }

  async function createSession(call: Call<"createSession">) {
    const { owner, principal, body, ids } = call;
    const { lane, previousSessionId, worktree, mode: _, ...named } = body;
    const mode = await modeOfNew(call);
    if (mode === "too wide") return problem("mode_too_wide");
    const fromProject = await projectDefaults(owner, body);
    const wanted = { ...fromProject, ...named };
    const persona = await personaForNew(wanted);
    if (persona === "not_found") return problem("persona_not_found");
    const settings = { ...wanted, ...mode, ...persona };
    const invalidModel = modelProblem(deps.models, body.model);
    if (invalidModel !== null) return invalidModel;
    if (previousSessionId !== undefined && (await reads.session(owner, previousSessionId)) === null)
      return problem("session_not_found");
    const invalidWorkspace = await refuseWorkspace({ owner, principal }, settings.workspace);
    if (invalidWorkspace !== null) return invalidWorkspace;
    const previousInLane = lane === undefined ? null : await reads.lane(owner, lane);
    const begin = (workspace?: string) =>
      log.createSession({
        owner,
        settings: { ...settings, ...(workspace !== undefined && { workspace }) },
        ids,
        ...(lane !== undefined && { lane }),
      });
    const begun =
      worktree === undefined
        ? await begin()
        : await beginInWorktree(owner, { repository: settings.workspace, ...worktree }, begin);
    if ("reason" in begun) return problem("worktree_unavailable", { detail: begun.reason });
    const { session, result } = begun;
    if (result.status === "committed") {
      await toolset.workspaces.bind({ owner, session });
      if (previousSessionId !== undefined)
        void memory.boundary(owner, previousSessionId, "new_session");
      if (previousInLane !== null && previousInLane !== session)
        void memory.boundary(owner, previousInLane, "lane_switch");
    }
    return showCommitted(result, owner, session);
  }

  /** Removed again if the session does not come to be. */
  async function beginInWorktree<T extends { readonly result: CommitResult }>(
    owner: OwnerId,
    wanted: {
      readonly repository?: string | null | undefined;
      readonly branch?: string | undefined;
    },
    begin: (workspace: string) => Promise<T>,
  ): Promise<T | { readonly reason: string }> {
    const { repository, branch } = wanted;
    if (repository == null || !repository.startsWith("/"))
      return { reason: "Give the folder of a git repository as the workspace." };
    let begun: T | undefined;
    const made = await toolset.worktrees.create(
      { owner, repository, ...(branch !== undefined && { branch }) },
      async (workspace) => {
        begun = await begin(workspace);
        return begun.result.status === "committed" ? begun : null;
      },
    );
    if (made.status === "refused") return made;
    return begun ?? { reason: "The session could not be created." };
  }

  async function changeSession(call: Call<"changeSession">) {
    const { owner, principal, params, headers, body } = call;
    const { id } = params;
    if (Object.keys(body).length === 0) return showSession(owner, id);
    let revision = headers["if-match"] ?? null;
    const invalidModel = modelProblem(deps.models, body.model);
    if (invalidModel !== null) return invalidModel;
    const invalidWorkspace = await refuseWorkspace({ owner, principal }, body.workspace);
    if (invalidWorkspace !== null) return invalidWorkspace;
    const { persona } = body;
    if (persona != null && (await deps.personas.resolve(persona)).id !== persona)
      return problem("persona_not_found");
    if (body.mode !== undefined) {
      const row = await reads.session(owner, id);
      if (row === null) return problem("session_not_found");
      const caller = await callerRights(owner, principal);
      const refusal = await refuseMode(reads, row, body.mode, caller);
      if (refusal !== null) return problem("mode_too_wide", { detail: refusal });
      // Narrower than what was read: a change in between must not make it wider.
      if (!caller.approvals) revision ??= row.revision;
    }
    const result = await log.changeSession(owner, id, body, revision);
    if (result.status === "committed" && body.workspace != null)
      await toolset.workspaces.bind({ owner, session: id });
    return showCommitted(result, owner, id);
  }

  /** Trashing a trashed session succeeds. */
  async function trashSession({ owner, params: { id } }: Call<"trashSession">) {
    deps.reviews.cancel(id);
    const result = await trash(deps, { owner, session: id });
    const isDone = result.status === "refused" && result.code === "session_trashed";
    return isDone ? showSession(owner, id) : showCommitted(result, owner, id);
  }

  async function stopWaiting({ owner, params: { id }, body }: Call<"stopWaiting">) {
    const row = await reads.session(owner, id);
    if (row === null) return problem("session_not_found");
    const result = await deps.engine.stopWaiting(owner, id, body.noticeId);
    if (result.status !== "settled") return problemFrom(result);
    return answer({ session: viewSession(row), settled: result.count });
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
    mountCall(deps, "stopWaiting", stopWaiting),
  ];
}

const trashPageSize = 100;

/** Deleting for good. P13: the store refuses to delete what is not in the trash. */
export function trashRoutes(deps: ApiDeps): Route[] {
  const { store } = deps.log;
  const { workspaces, worktrees } = deps.toolset;

  /** The worktree that only this session works in. */
  async function worktreeOf(owner: OwnerId, session: SessionId, workspace: string | null) {
    const id = worktreeIdOf(workspace);
    const record = id === null ? null : await worktrees.read(owner, id);
    if (record === null || workspace === null) return null;
    for (const shelf of ["active", "archived", "trash"] as const) {
      const { sessions } = await store.reads.sessions(owner, { shelf, workspace, limit: 2 });
      if (sessions.some((other) => other.id !== session)) return null;
    }
    return record;
  }

  /** The store first: a call that is repeated after a crash finds the folder again. */
  async function purge(owner: OwnerId, session: SessionId, worktree?: "keep") {
    const workspace = (await store.reads.session(owner, session))?.workspace ?? null;
    const record = await worktreeOf(owner, session, workspace);
    if (record !== null && worktree !== "keep") {
      const work = await worktrees.work(record);
      if (work === null || work.changes + work.commits > 0)
        return { status: "has_work", detail: describeWork(record, work) } as const;
    }
    const result = await store.purge(owner, session);
    if (result.status !== "purged") return result;
    await workspaces.removeUnusedFolders({ owner, session }, workspace);
    // What was committed since makes it stay.
    if (record !== null && worktree !== "keep")
      await worktrees.remove(record, { branch: "delete" });
    return result;
  }

  return [
    mountCall(deps, "purgeSession", async ({ owner, params: { id }, query }) => {
      const result = await purge(owner, id, query.worktree);
      if (result.status === "has_work")
        return problem("worktree_has_work", { detail: result.detail });
      if (result.status === "purged") return answer({ events: result.events });
      return result.status === "refused" ? problem(result.code) : problemFrom(result);
    }),
    mountCall(deps, "emptyTrash", async ({ owner }) => {
      let count = 0;
      const kept = new Set<SessionId>();
      for (;;) {
        const { sessions } = await store.reads.sessions(owner, {
          shelf: "trash",
          limit: trashPageSize,
        });
        let purged = 0;
        for (const { id } of sessions) {
          const result = await purge(owner, id);
          if (result.status === "failed") return problemFrom(result);
          if (result.status === "has_work") kept.add(id);
          // Otherwise somebody has restored it meanwhile.
          if (result.status === "purged") purged += 1;
        }
        count += purged;
        if (purged === 0)
          return answer({ sessions: count, ...(kept.size > 0 && { kept: kept.size }) });
      }
    }),
  ];
}
