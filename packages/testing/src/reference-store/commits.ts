import {
  repeatedCommitResult,
  repeatedInputResult,
  type Commit,
  type CommitResult,
  decideCommit,
  emptySession,
  type InputRow,
  type LoadedRows,
  MemoryRows,
  needsOf,
  mergeChunk,
  type Plan,
} from "@holdfast/engine";
import type { NewEvent, SeqRange, StoredEvent } from "@holdfast/protocol";

import {
  blobKeyOf,
  laneKeyOf,
  type Log,
  type LogRow,
  type ReferenceData,
  type SessionData,
  sessionOf,
} from "./data.ts";
import { findInbound } from "./outbox.ts";

/** Synchronous, so that a commit is atomic for everybody else. */
export function commitTo(data: ReferenceData, request: Commit): CommitResult {
  const commit: Commit = { ...request, events: request.events.map(throughJson) };
  const now = data.clock();

  const session = sessionOf(data, commit.owner, commit.session);
  const first = commit.events[0];
  const known = first && data.logs.get(commit.session)?.byId.get(first.id);
  if (session !== null && known !== undefined)
    return repeatedCommitResult(commit, known.event, session.row);

  const decided = decideCommit(load(data, commit), commit, now);
  switch (decided.status) {
    case "refused":
      return decided;
    case "repeated":
      return repeatedInputResult(decided, data.sessions.get(commit.session)!.row);
    case "planned":
      apply(data, commit, decided);
      wakeWatchers(data, commit);
      return decided.result;
  }
}

/** A store keeps JSON, so the caller's objects aren't shared. */
function throughJson(event: NewEvent): NewEvent {
  return { ...event, data: JSON.parse(JSON.stringify(event.data)) as NewEvent["data"] };
}

function load(data: ReferenceData, commit: Commit): LoadedRows {
  const session = data.sessions.get(commit.session);
  const needs = needsOf(commit);
  const inputs = session?.inputs ?? new Map<InputRow["messageId"], InputRow>();
  return {
    session: session?.row ?? null,
    origin: (needs.origin && data.sessions.get(needs.origin)?.row) ?? null,
    purged: data.purges.has(commit.session),
    leases: [...(session?.leases.values() ?? [])],
    runs: session?.runs ?? new Map(),
    inputs,
    inputsByClient: new Map(inputs.values().map((input) => [input.clientId, input])),
    approvals: new Map(data.sessions.values().flatMap(({ approvals }) => approvals.entries())),
    inbound: new Map(
      needs.inbound.flatMap((key) => {
        const row = findInbound(data, key);
        return row === undefined ? [] : [[key, row]];
      }),
    ),
    blobs: new Set(needs.blobs.filter((blob) => data.blobs.has(blobKeyOf(commit.owner, blob)))),
  };
}

function apply(data: ReferenceData, commit: Commit, plan: Plan): void {
  const session: SessionData = data.sessions.get(commit.session) ?? {
    row: plan.session,
    reads: readsOf(commit),
    runs: new Map(),
    inputs: new Map(),
    approvals: new Map(),
    memory: new MemoryRows(),
    outbox: new Map(),
    leases: new Map(),
    fences: new Map(),
  };
  data.sessions.set(commit.session, session);
  session.row = plan.session;
  for (const run of plan.runs) session.runs.set(run.id, run);
  for (const input of plan.inputs) session.inputs.set(input.messageId, input);
  for (const approval of plan.approvals) session.approvals.set(approval.id, approval);
  for (const change of plan.memory) session.memory.apply(change);
  for (const chunk of plan.outbox) mergeChunk(session.outbox, chunk);
  for (const lane of plan.lanes) data.lanes.set(laneKeyOf(lane.owner, lane.lane), lane);
  data.usage.push(...plan.usage);
  for (const id of plan.blobs) {
    const blob = data.blobs.get(blobKeyOf(commit.owner, id))!;
    blob.row = { ...blob.row, refs: blob.row.refs + 1 };
  }
  if (plan.dropsLeases) session.leases.clear();
  appendTo(data, plan);
}

function readsOf(commit: Commit): readonly SeqRange[] {
  const [first] = commit.events;
  if (first === undefined) return [];
  return emptySession(commit, first, 0).ranges.filter((range) => range.log !== undefined);
}

function appendTo(data: ReferenceData, { session, log: kept, deltas }: Plan): void {
  const log: Log = data.logs.get(session.id) ?? {
    owner: session.owner,
    rows: [],
    byId: new Map(),
  };
  data.logs.set(session.id, log);
  const toRow = (place: LogRow["place"]) => (event: StoredEvent) => ({ event, place });
  const rows = [...kept.map(toRow("log")), ...deltas.map(toRow("delta"))];
  for (const row of rows.toSorted((a, b) => a.event.seq - b.event.seq)) {
    log.rows.push(row);
    log.byId.set(row.event.id, row);
  }
  // The newest are the ones that no settled entry covers; a commit may carry deltas before and after one.
  const open = log.rows.filter((row) => row.place === "delta");
  for (const row of open.slice(0, open.length - session.openDeltas)) row.place = "pruned";
}

function wakeWatchers(data: ReferenceData, { session }: Commit): void {
  for (const watcher of data.watchers) {
    if (watcher.session === session) {
      queueMicrotask(() => data.watchers.has(watcher) && watcher.wake());
    }
  }
}
