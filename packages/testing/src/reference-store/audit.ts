import { type Audit, MemoryRows, type Orphan, outboxKey, type RawEvent } from "@holdfast/engine";
import type { SessionId } from "@holdfast/protocol";

import {
  blobIdOf,
  laneKeyOf,
  type LogRow,
  type ReferenceData,
  lastSeqReadByBranches,
} from "./data.ts";
import { allLeases } from "./leases.ts";

export function createAudit(data: ReferenceData): Audit {
  return {
    sessions: () => iterate(data.sessions.values().map((session) => session.row)),
    events: (session) =>
      iterate((data.logs.get(session)?.rows ?? []).map((row) => rawEvent(session, row))),
    // Rows in memory are not linked.
    logEnd: async (session) => {
      const last = data.logs.get(session)?.rows.at(-1);
      return last === undefined ? null : { seq: last.event.seq, hash: null };
    },
    unlinked: async () => ({ sessions: [], last: null }),
    leases: () => iterate(allLeases(data)),
    blobs: () =>
      iterate(
        data.blobs.values().map(({ row, bytes }) => ({
          ...row,
          intact: blobIdOf(bytes) === row.id,
        })),
      ),
    purges: () => iterate(data.purges.values()),
    register: () => iterate(data.register.values()),
    usage: async (session) => data.usage.filter((row) => row.session === session),
    orphans: () => iterate(orphansIn(data)),
    integrity: async () => [],

    async derived(id) {
      const session = data.sessions.get(id);
      if (session === undefined) return null;
      return {
        session: session.row,
        runs: [...session.runs.values()],
        inputs: [...session.inputs.values()],
        lanes: [...data.lanes.values()].filter((lane) => lane.session === id),
        usage: data.usage.filter((row) => row.session === id),
        approvals: [...session.approvals.values()],
        marks: session.memory.marks,
        memoryTries: session.memory.tries,
        outbox: [...session.outbox.values()],
      };
    },

    async replaceDerived(derived) {
      const { session: row, runs, inputs, lanes, usage, approvals } = derived;
      const session = data.sessions.get(row.id);
      if (session?.row.head !== row.head) return "moved";
      session.row = row;
      session.runs.clear();
      for (const run of runs) session.runs.set(run.id, run);
      session.inputs.clear();
      for (const input of inputs) session.inputs.set(input.messageId, input);
      session.approvals.clear();
      for (const approval of approvals) session.approvals.set(approval.id, approval);
      session.memory = new MemoryRows(derived.marks, derived.memoryTries[0]);
      session.outbox.clear();
      for (const chunk of derived.outbox) session.outbox.set(outboxKey(chunk), chunk);
      for (const [key, lane] of data.lanes) if (lane.session === row.id) data.lanes.delete(key);
      for (const lane of lanes) data.lanes.set(laneKeyOf(lane.owner, lane.lane), lane);
      data.usage = [...data.usage.filter((used) => used.session !== row.id), ...usage];
      return "replaced";
    },

    async replaceBlobRefs(refs, owner) {
      for (const blob of data.blobs.values()) {
        if (blob.row.owner !== owner) continue;
        blob.row = { ...blob.row, refs: refs.get(blob.row.id) ?? 0 };
      }
    },
  };
}

function rawEvent(session: SessionId, { event, place }: LogRow): RawEvent {
  return { session, seq: event.seq, event, place };
}

function* orphansIn(data: ReferenceData): Iterable<Orphan> {
  for (const [key, { session }] of data.requests) {
    if (session !== null && !data.sessions.has(session)) yield { table: "requests", key };
  }
  for (const [key, lane] of data.lanes) {
    if (!data.sessions.has(lane.session)) yield { table: "lanes", key };
  }
  for (const [id, log] of data.logs) {
    if (data.sessions.has(id)) continue;
    const upTo = lastSeqReadByBranches(data, id);
    for (const { event } of log.rows) {
      if (event.seq > upTo) yield { table: "events", key: `${id} ${event.seq}` };
    }
  }
}

/** Copied first: the reader may wait between two rows while others write. */
async function* iterate<T>(rows: Iterable<T>): AsyncIterable<T> {
  const copied = Array.from(rows);
  yield* copied;
}
