import {
  branch,
  type BranchResult,
  clear,
  duplicate,
  type HistoryRefusal,
  type HistoryResult,
  type HistoryTarget,
  interruptThen,
  listAlternatives,
  redo,
  retry,
  switchAlternative,
  truncate,
  undo,
  viewSession,
} from "@holdfast/engine";
import type { EventId, Seq, SessionId } from "@holdfast/protocol";

import type { SessionRef } from "../../agent/snapshots/file-snapshots.ts";
import type { RestoreResult } from "../../agent/snapshots/file-undo.ts";
import { fileReply, nothingToRedo, nothingToUndo } from "../../agent/snapshots/file-undo-routes.ts";

import { mayRestoreFiles, restoreNotAllowed } from "../../rights/file-restores.ts";
import { openRightsResolver } from "../../rights/resolve-rights.ts";
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
import type { ApiDeps } from "./deps.ts";
import { modelProblem } from "./models.ts";

type Command = Pick<Call<"undo">, "owner" | "ids" | "params"> & {
  readonly body: Pick<Call<"undo">["body"], "expectedHead" | "interrupt">;
};

type CommandTarget = HistoryTarget & { readonly command: EventId };

/** Which point of the log the files are brought to, and what to answer if there is none. */
interface FilesTarget {
  readonly cause: "undo" | "redo" | "switch";
  readonly findPoint: (session: SessionRef) => Promise<RestorePoint | null>;
  readonly none: HistoryRefusal;
}

interface RestorePoint {
  readonly to: Seq;
  /** The version that was asked for is shown already. */
  readonly isInView?: boolean;
}

const pointAt = (to: Seq | null): RestorePoint | null => (to === null ? null : { to });

const notAnAlternative: HistoryRefusal = {
  status: "refused",
  code: "entry_not_found",
  message: "There is no such version with files to restore.",
};

/** Each command takes its ids from its request, so it is carried out once however often it is sent. */
export function historyRoutes(deps: ApiDeps): Route[] {
  const { log, engine, memory, fileUndo } = deps;
  const { reads } = log.store;
  const rights = openRightsResolver(log.store.register);
  const commandDeps = ({ ids }: Command) => ({ log, ids });

  /** Runs the command, first ending a live run if the request says so. */
  async function carryOut<R extends { readonly status: string }>(
    { owner, params, body, ids }: Command,
    act: (target: CommandTarget) => Promise<R>,
  ) {
    const { expectedHead, interrupt } = body;
    const target = { owner, session: params.id, expectedHead };
    const id = ids.make("event");
    const actOnce = (asked: HistoryTarget) => act({ ...asked, command: id });
    return interrupt === true
      ? interruptThen({ ...deps, runner: engine }, target, actOnce)
      : actOnce(target);
  }

  async function cut(
    command: Command,
    act: (target: HistoryTarget) => Promise<HistoryResult>,
  ): Promise<Reply<AnswerOf<"undo">>> {
    const result = await carryOut(command, act);
    if (result.status !== "committed") return problemFrom(result);
    const row = await reads.session(command.owner, command.params.id);
    if (row === null) return problem("session_not_found");
    return answer({ session: viewSession(row), seq: result.last });
  }

  /** The same, and the files become what they were after the event that `findPoint` finds. */
  async function cutWithFiles(
    command: Command,
    { cause, findPoint, none }: FilesTarget,
    act: (target: HistoryTarget) => Promise<HistoryResult>,
  ): Promise<Reply<AnswerOf<"undo">>> {
    const session = { owner: command.owner, session: command.params.id };
    if (!mayRestoreFiles(await rights.ofLane(command.owner, null)))
      return problem("forbidden", { detail: restoreNotAllowed });
    const result = await carryOut(command, async (target): Promise<RestoreResult> => {
      const point = await findPoint(session);
      if (point === null) return none;
      const { to, isInView = false } = point;
      const conversation = isInView
        ? undefined
        : { event: target.command, change: () => act(target) };
      return fileUndo.restore(session, { to, cause, ids: command.ids, conversation });
    });
    return fileReply(result);
  }

  async function retryMessage(call: Call<"retry">) {
    const { from, text, attachments, model } = call.body;
    const invalidModel = modelProblem(deps.models, model);
    if (invalidModel !== null) return invalidModel;
    const content = { from, text, attachments, model, clientId: call.ids.make("message") };
    const result = await carryOut(call, (target) => retry(commandDeps(call), target, content));
    if (result.status !== "accepted") return problemFrom(result);
    engine.notify(call.owner, call.params.id);
    const { messageId, runId, seq } = result;
    return answer({ messageId, runId, seq });
  }

  async function branchOff(
    command: Command,
    act: (target: HistoryTarget, session: SessionId) => Promise<BranchResult>,
  ): Promise<Reply<AnswerOf<"branch">>> {
    const session = command.ids.make("session");
    const result = await carryOut(command, (target) => act(target, session));
    if (result.status !== "branched") return problemFrom(result);
    const row = await reads.session(command.owner, session);
    return row === null ? problem("session_not_found") : answer({ session: viewSession(row) });
  }

  return [
    mountCall(deps, "undo", (call) => {
      const { turns = 1, files } = call.body;
      const act = (target: HistoryTarget) => undo(commandDeps(call), target, turns);
      if (files !== "restore") return cut(call, act);
      const findPoint = async (session: SessionRef) =>
        pointAt(await fileUndo.turnStart(session, turns));
      return cutWithFiles(call, { cause: "undo", findPoint, none: nothingToUndo }, act);
    }),
    mountCall(deps, "redo", (call) => {
      const act = (target: HistoryTarget) => redo(commandDeps(call), target);
      if (call.body.files !== "restore") return cut(call, act);
      const findPoint = async (session: SessionRef) => pointAt(await fileUndo.lastRestore(session));
      return cutWithFiles(call, { cause: "redo", findPoint, none: nothingToRedo }, act);
    }),
    mountCall(deps, "truncate", (call) =>
      cut(call, (target) => truncate(commandDeps(call), target, call.body.from)),
    ),
    mountCall(deps, "clear", async (call) => {
      const reply = await cut(call, (target) => clear(commandDeps(call), target));
      // Not awaited, and after the cut, when the session is unlocked: nobody waits for a memory provider.
      void memory.boundary(call.owner, call.params.id, "clear");
      return reply;
    }),
    mountCall(deps, "retry", retryMessage),
    mountRead(deps, "listAlternatives", async ({ owner, params }) => {
      const turns = await listAlternatives(reads, owner, params.id);
      if (turns === null) return problem("session_not_found");
      return answer({ turns: turns.map((alternatives) => ({ alternatives: [...alternatives] })) });
    }),
    mountCall(deps, "switchAlternative", (call) => {
      const { messageId, files } = call.body;
      const act = (target: HistoryTarget) =>
        switchAlternative(commandDeps(call), target, messageId);
      if (files !== "restore") return cut(call, act);
      const findPoint = (session: SessionRef) => fileUndo.versionLeft(session, messageId);
      return cutWithFiles(call, { cause: "switch", findPoint, none: notAnAlternative }, act);
    }),
    mountCall(deps, "branch", (call) =>
      branchOff(call, (target, session) =>
        branch(commandDeps(call), target, { ...call.body, session }),
      ),
    ),
    mountCall(deps, "duplicate", (call) =>
      branchOff(call, (target, session) =>
        duplicate(commandDeps(call), target, { ...call.body, session }),
      ),
    ),
  ];
}
