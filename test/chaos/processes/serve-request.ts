import { createHash } from "node:crypto";

import {
  admitMessage,
  answerApproval,
  type Admission,
  branch,
  clear,
  type Failed,
  type HistoryDeps,
  type HistoryResult,
  type Holder,
  redo,
  type Refused,
  requestCancel,
  restore,
  retry,
  type Runner,
  StoreFailure,
  trash,
  truncate,
  undo,
  withAmendments,
} from "@holdfast/engine";
import { entriesOf, type OwnerId, type SessionId } from "@holdfast/protocol";

import type { ClientResponse, ReadSummary, ClientRequest } from "./protocol.ts";

interface ServeRequestDeps extends HistoryDeps {
  readonly runner: Runner;
  readonly holder: () => Holder;
}

/** Carries out a client's request with the engine's own functions, and answers when the store has. */
export async function serveRequest(
  deps: ServeRequestDeps,
  owner: OwnerId,
  request: ClientRequest,
): Promise<ClientResponse> {
  try {
    return await grant(deps, owner, request);
  } catch (error) {
    // The only way in which reads fail when the store is unreachable.
    if (error instanceof StoreFailure) return { kind: "failed", code: error.code };
    throw error;
  }
}

async function grant(
  deps: ServeRequestDeps,
  owner: OwnerId,
  request: ClientRequest,
): Promise<ClientResponse> {
  const { log, ids, runner } = deps;
  if (request.act === "create") {
    const { session, result } = await log.createSession({ owner, settings: {} });
    return result.status === "committed" ? { kind: "done", session } : notDone(result);
  }
  const { session } = request;
  const target = { owner, session };
  switch (request.act) {
    case "send": {
      const { clientId, text, mode } = request;
      const admission = await admitMessage(log, ids, { ...target, clientId, text, mode });
      runner.notify(owner, session);
      return admitted(admission);
    }
    case "retry": {
      const admission = await retry(deps, target, { clientId: request.clientId });
      runner.notify(owner, session);
      return admission.status === "accepted" ? admitted(admission) : notDone(admission);
    }
    case "cancel": {
      const result = await requestCancel(log, ids, owner, request.runId);
      switch (result.status) {
        case "requested":
        case "ended":
          return { kind: "done" };
        case "not_found":
          return { kind: "refused", code: "run_not_found" };
        default:
          return notDone(result);
      }
    }
    case "answer": {
      const { approvalId, decision } = request;
      const result = await answerApproval(log, ids, owner, approvalId, decision);
      runner.notify(owner, session);
      if (result.status === "answered") return { kind: "done" };
      if (result.status === "not_found") return { kind: "refused", code: "approval_not_found" };
      return notDone(result);
    }
    case "undo":
      return changed(await undo(deps, target));
    case "redo":
      return changed(await redo(deps, target));
    case "clear":
      return changed(await clear(deps, target));
    case "truncate":
      return changed(await truncate(deps, target, request.from));
    case "branch": {
      const result = await branch(deps, target);
      if (result.status !== "branched") return notDone(result);
      return { kind: "done", session: result.session };
    }
    case "trash":
      return changed(await trash(deps, target));
    case "restore":
      return changed(await restore(deps, target));
    case "read":
      return readThrough(deps, owner, session);
  }
}

type NotDone = { readonly status: "refused" | "failed"; readonly code: string };

function notDone({ status, code }: NotDone): ClientResponse {
  return { kind: status, code };
}

function admitted(admission: Admission): ClientResponse {
  if (admission.status !== "accepted") return notDone(admission);
  const { messageId, runId, seq } = admission;
  return { kind: "done", messageId, runId, seq };
}

function changed(result: HistoryResult | Refused | Failed): ClientResponse {
  return result.status === "committed" ? { kind: "done", seq: result.last } : notDone(result);
}

/** As many as a page of the API has. */
const entryLimit = 100;

/** Reads like the API, with the same functions. */
async function readThrough(
  { log }: HistoryDeps,
  owner: OwnerId,
  id: SessionId,
): Promise<ClientResponse> {
  const { reads } = log.store;
  const snapshot = await reads.snapshot(owner, id, { limit: entryLimit });
  if (snapshot === null) return { kind: "refused", code: "session_not_found" };
  const { session, entries, inbox } = snapshot;
  const visible = await withAmendments(reads, session, entries.entries, "newest");
  return { kind: "done", read: summarizeRead(session.head, [...entriesOf(visible)], inbox.length) };
}

export function summarizeRead(head: number, entries: unknown, inbox: number): ReadSummary {
  const digest = createHash("sha256").update(canonicalJson(entries)).digest("hex");
  return { head, entries: digest, inbox };
}

/** JSON with sorted fields. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    item !== null && typeof item === "object" && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
