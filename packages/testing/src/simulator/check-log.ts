import type { KnownEvent, SessionId, StoredEvent } from "@holdfast/protocol";

import type { FinalSession, FinalStore, SimProblem, SimRecord } from "./record.ts";

/** P2, P3, P8 and P14: the log and who wrote it. */
export function* checkLog(record: SimRecord, final: FinalStore): Generator<SimProblem> {
  for (const session of final.sessions) {
    yield* checkNumbers(session);
    yield* checkFences(record, session.id);
  }
  yield* checkAppendOnly(record, final);
  yield* checkIds(final);
  for (const text of final.fsck) yield { promise: "P14", text };
}

function* checkNumbers({ id, log, session }: FinalSession): Generator<SimProblem> {
  let last: number = session.origin?.seq ?? 0;
  for (const { seq } of log) {
    if (seq !== last + 1) yield { promise: "P2", text: `${id}: ${seq} follows ${last}.` };
    last = seq;
  }
  if (session.head !== last)
    yield { promise: "P2", text: `${id}: the head is ${session.head}, the last number ${last}.` };
}

function* checkFences({ commits, leases }: SimRecord, session: SessionId): Generator<SimProblem> {
  const taken = leases.filter((lease) => lease.session === session);
  const holders = new Map<number, string>();
  for (const { fence, host } of taken) {
    const holder = holders.get(fence) ?? host;
    holders.set(fence, host);
    if (holder !== host)
      yield { promise: "P3", text: `${session}: ${holder} and ${host} hold fence ${fence}.` };
  }
  let shelvedAt = -1;
  for (const { step, host, fence, events } of commits.filter(
    (commit) => commit.session === session,
  )) {
    const what = events.map((event) => event.type).join(" ");
    if (isTrashOrRestore(events)) shelvedAt = step;
    if (fence === null) {
      if (!settlesAtRest(events) && events.some((event) => isRunnerOnly(event.type)))
        yield { promise: "P3", text: `${session}: ${host} wrote [${what}] under no fence.` };
      continue;
    }
    const newest = taken.findLast((lease) => lease.step <= step && lease.step >= shelvedAt);
    if (newest?.fence !== fence)
      yield {
        promise: "P3",
        text: `${session}: at step ${step} ${host} wrote [${what}] under ${fence}, but ${newest?.host} holds ${newest?.fence}.`,
      };
    else if (holders.get(fence) !== host)
      yield { promise: "P3", text: `${session}: ${host} wrote under another's fence ${fence}.` };
  }
}

/** Trashes or restores a session: every lease is gone then. */
function isTrashOrRestore(events: readonly StoredEvent[]): boolean {
  return events.some(({ type }) => type === "session.trashed" || type === "session.restored");
}

/** When nobody holds the run, whoever ends it settles its output. */
function settlesAtRest(events: readonly StoredEvent[]): boolean {
  const cancels = events.some(({ type }) => type === "run.cancel");
  return isTrashOrRestore(events) || (cancels && events.some(({ type }) => type === "run.state"));
}

/** What only the holder of a run may write. */
function isRunnerOnly(type: string): boolean {
  return (
    type === "message.delta" ||
    type === "message.assistant" ||
    type === "message.tool" ||
    type === "step.started" ||
    type === "usage.recorded" ||
    type.startsWith("tool.")
  );
}

/** Every acknowledged commit is still there, unchanged and in its place. */
function* checkAppendOnly({ commits }: SimRecord, final: FinalStore): Generator<SimProblem> {
  const stored = new Map(final.sessions.map(({ id, log }) => [id, eventsBySeq(log)]));
  for (const { session, events, host } of commits) {
    for (const event of events) {
      const found = stored.get(session)?.get(event.seq);
      if (found?.id === event.id && JSON.stringify(found.data) === JSON.stringify(event.data))
        continue;
      const instead = found === undefined ? "nothing" : `${found.type} ${found.id}`;
      yield {
        promise: "P8",
        text: `${session}: ${host} was told that ${event.type} ${event.id} stands at ${event.seq}; there is ${instead}.`,
      };
    }
  }
}

function eventsBySeq(log: readonly KnownEvent[]): ReadonlyMap<number, KnownEvent> {
  return new Map(log.map((event) => [event.seq, event]));
}

function* checkIds(final: FinalStore): Generator<SimProblem> {
  const events = new Set<string>();
  const entries = new Set<string>();
  for (const { id, log } of final.sessions) {
    for (const event of log) {
      if (events.has(event.id)) yield { promise: "P8", text: `${id}: ${event.id} stands twice.` };
      events.add(event.id);
      const entry = entryId(event);
      if (entry === undefined) continue;
      if (entries.has(entry))
        yield { promise: "P8", text: `${id}: the entry ${entry} was settled twice.` };
      entries.add(entry);
    }
  }
}

function entryId(event: KnownEvent): string | undefined {
  switch (event.type) {
    case "message.user":
    case "message.assistant":
    case "message.tool":
      return event.data.messageId;
    case "notice.added":
      return event.data.noticeId;
    default:
      return undefined;
  }
}
