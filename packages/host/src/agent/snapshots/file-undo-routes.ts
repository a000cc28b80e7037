import { type HistoryRefusal, interruptThen, type StillRunning } from "@holdfast/engine";
import type { FilesRestored, Seq, SessionView } from "@holdfast/protocol";

import { mayRestoreFiles, restoreNotAllowed } from "../../rights/file-restores.ts";
import { openRightsResolver } from "../../rights/resolve-rights.ts";
import type { ApiDeps } from "../../server/api/deps.ts";
import {
  answer,
  type Call,
  mountCall,
  mountRead,
  problem,
  problemFrom,
  type Reply,
} from "../../server/api/endpoint.ts";
import type { Route } from "../../server/http/routing.ts";
import type { SessionRef } from "./file-snapshots.ts";
import type { RestoreResult } from "./file-undo.ts";

export const nothingToUndo: HistoryRefusal = {
  status: "refused",
  code: "nothing_to_undo",
  message: "There is no earlier message to go back to.",
};
export const nothingToRedo: HistoryRefusal = {
  status: "refused",
  code: "nothing_to_redo",
  message: "No files were put back since the last message.",
};

/** Undo and redo of files alone, and what they would do. */
export function fileUndoRoutes(deps: ApiDeps): Route[] {
  const { log, engine, fileUndo } = deps;
  const rights = openRightsResolver(log.store.register);

  async function changes({ owner, params, query }: Call<"readFileChanges">) {
    const session = { owner, session: params.id };
    if ((await log.store.reads.session(owner, params.id)) === null)
      return problem("session_not_found");
    const { from, to, turns = 1 } = query;
    const start = from ?? (await fileUndo.turnStart(session, turns));
    if (start === null) return problem("nothing_to_undo");
    const found = await fileUndo.changes(session, { from: start, to });
    return found === null ? problem("files_unavailable") : answer(found);
  }

  async function restore(
    { owner, params, body, ids }: Pick<Call<"redoFiles">, "owner" | "params" | "body" | "ids">,
    cause: "undo" | "redo",
    {
      findPoint,
      none,
    }: {
      readonly findPoint: (session: SessionRef) => Promise<Seq | null>;
      readonly none: HistoryRefusal;
    },
  ) {
    if (!mayRestoreFiles(await rights.ofLane(owner, null)))
      return problem("forbidden", { detail: restoreNotAllowed });
    const { expectedHead, interrupt } = body;
    const session = { owner, session: params.id };
    const act = async (target: { readonly expectedHead?: Seq | undefined }) => {
      const to = await findPoint(session);
      const head = { expectedHead: target.expectedHead };
      return to === null ? none : fileUndo.restore(session, { to, cause, ids, ...head });
    };
    const target = { ...session, expectedHead };
    return fileReply(
      interrupt === true
        ? await interruptThen({ ...deps, runner: engine }, target, act)
        : await act(target),
    );
  }

  return [
    mountRead(deps, "readFileChanges", changes),
    mountCall(deps, "undoFiles", (call) =>
      restore(call, "undo", {
        findPoint: (session) => fileUndo.turnStart(session, call.body.turns ?? 1),
        none: nothingToUndo,
      }),
    ),
    mountCall(deps, "redoFiles", (call) =>
      restore(call, "redo", {
        findPoint: (session) => fileUndo.lastRestore(session),
        none: nothingToRedo,
      }),
    ),
  ];
}

export function fileReply(result: RestoreResult | StillRunning): Reply<{
  readonly session: SessionView;
  readonly seq: Seq;
  readonly files: FilesRestored;
}> {
  if (result.status === "unavailable") return problem("files_unavailable");
  if (result.status !== "restored") return problemFrom(result);
  const { session, seq, files } = result;
  return answer({ session, seq, files });
}
