import {
  type AnsweredCursor,
  type ApprovalCursor,
  type ApprovalRow,
  type EntryPage,
  type EntryQuery,
  holdsForSession,
  type ListQuery,
  type Reads,
  type SessionRow,
  type Shelf,
  encodeSessionPage,
} from "@holdfast/engine";
import { type OwnerId, roleOf, type StoredEvent } from "@holdfast/protocol";

import {
  blobKeyOf,
  laneKeyOf,
  type ReferenceData,
  readableRows,
  type SessionData,
  sessionOf,
} from "./data.ts";
import { createOutboxReads } from "./outbox.ts";
import { addUp, usageGroups } from "./usage-groups.ts";
import { workFilter } from "./usage-of-work.ts";

export function createReads(data: ReferenceData): Reads {
  return {
    ...createOutboxReads(data),
    async session(owner, id) {
      return sessionOf(data, owner, id)?.row ?? null;
    },

    async sessions(owner, query) {
      const matching = Array.from(data.sessions.values(), (session) => session.row)
        .filter((row) => row.owner === owner && isListed(row, query))
        .toSorted(byListOrder)
        .filter((row) => query.after === undefined || byListOrder(query.after, row) < 0);
      const sessions = matching.slice(0, query.limit);
      const last = sessions.at(-1);
      const more = matching.length > sessions.length && last !== undefined;
      return { sessions, next: more ? { sortAt: last.sortAt, id: last.id } : null };
    },

    async listed(owner, query) {
      return encodeSessionPage(await this.sessions(owner, query));
    },

    async events(owner, id, { after, upTo, limit }) {
      const session = sessionOf(data, owner, id);
      if (session === null) return null;
      const matching = readableRows(data, id).filter(
        ({ seq }) => seq > after && seq <= (upTo ?? Infinity),
      );
      return {
        events: matching.slice(0, limit),
        head: session.row.head,
        more: matching.length > limit,
      };
    },

    async entries(owner, id, query) {
      const session = sessionOf(data, owner, id);
      return session && readEntries(data, session.row, query);
    },

    async snapshot(owner, id, query) {
      const session = sessionOf(data, owner, id);
      if (session === null) return null;
      const { row, runs } = session;
      return {
        session: row,
        entries: readEntries(data, row, query),
        run: row.liveRun === null ? null : (runs.get(row.liveRun) ?? null),
        inbox: readInbox(session),
        journal: readJournal(data, session),
      };
    },

    async event(owner, session, id) {
      const row = sessionOf(data, owner, session) && data.logs.get(session)?.byId.get(id);
      return row?.place === "log" ? row.event : null;
    },

    async run(owner, id) {
      const own = data.sessions.values().filter((session) => session.row.owner === owner);
      return own.map((session) => session.runs.get(id)).find((run) => run !== undefined) ?? null;
    },

    async senderOf(owner, id) {
      const run = await this.run(owner, id);
      if (run?.continues != null) return this.senderOf(owner, run.continues);
      const inputs = [
        ...(run === null ? [] : (data.sessions.get(run.session)?.inputs.values() ?? [])),
      ];
      return inputs.find(({ runId }) => runId === id)?.clientId ?? null;
    },

    async lane(owner, lane) {
      return data.lanes.get(laneKeyOf(owner, lane))?.session ?? null;
    },

    async usage(owner, { session, runId, since = 0, profile }) {
      return addUp(
        data.usage.filter((row) => {
          if (row.owner !== owner || row.at < since) return false;
          if (session !== undefined && row.session !== session) return false;
          if (runId !== undefined && row.runId !== runId) return false;
          return profile === undefined || row.profile?.split("+").includes(profile) === true;
        }),
      );
    },

    async usageOfWork(owner, { since = 0, ...query }) {
      const isCounted = workFilter(data, owner, query);
      return addUp(
        data.usage.filter((row) => row.owner === owner && row.at >= since && isCounted(row)),
      );
    },

    usageGroups: async (owner, query) => usageGroups(data, owner, query),

    async blob(owner, id) {
      const blob = data.blobs.get(blobKeyOf(owner, id));
      return blob ? { id, mediaType: blob.row.mediaType, bytes: blob.bytes.slice() } : null;
    },

    async approval(owner, id) {
      return approvalsOf(data, owner).find((approval) => approval.id === id) ?? null;
    },

    async approvals(owner, { session, limit, after }) {
      const matching = approvalsOf(data, owner)
        .filter(({ state }) => state === "open")
        .filter((approval) => session === undefined || approval.session === session)
        .toSorted(byAskedAt)
        .filter((approval) => after === undefined || byAskedAt(after, approval) < 0);
      const approvals = matching.slice(0, limit);
      const last = approvals.at(-1);
      const more = matching.length > approvals.length && last !== undefined;
      return { approvals, next: more ? { askedAt: last.askedAt, id: last.id } : null };
    },

    async unremembered(owner, id, limit) {
      const memory = sessionOf(data, owner, id)?.memory;
      return { marks: memory?.marks.slice(0, limit) ?? [], trying: memory?.trying ?? null };
    },

    async memory(owner) {
      const all = [...data.sessions.values()]
        .filter(({ row }) => row.owner === owner && row.trashedAt === null)
        .map(({ memory }) => memory);
      const turns = all.flatMap(({ marks }) => marks);
      const failed = all.flatMap(({ tries }) => tries).filter(({ code }) => code !== null);
      const latest = failed.toSorted((a, b) => (b.retryAt ?? 0) - (a.retryAt ?? 0));
      return {
        sessions: all.filter(({ marks }) => marks.length > 0).length,
        turns: turns.length,
        oldestAt: turns.length === 0 ? null : Math.min(...turns.map(({ at }) => at)),
        failing: latest[0] ?? null,
      };
    },

    async answered(owner, { session, limit, before }) {
      const at = ({ answeredAt, id }: AnsweredCursor) => ({ askedAt: answeredAt, id });
      const matching = approvalsOf(data, owner)
        .flatMap((row) => (row.answeredAt === null ? [] : [{ ...row, answeredAt: row.answeredAt }]))
        .filter((row) => row.state === "answered" && (session ?? row.session) === row.session)
        .toSorted((a, b) => byAskedAt(at(b), at(a)))
        .filter((row) => before === undefined || byAskedAt(at(row), at(before)) < 0);
      const approvals = matching.slice(0, limit);
      const last = approvals.at(-1);
      const more = matching.length > approvals.length && last !== undefined;
      return { approvals, next: more ? { answeredAt: last.answeredAt, id: last.id } : null };
    },

    async approvalsFor(owner, session, run) {
      return approvalsOf(data, owner)
        .filter((approval) => approval.session === session)
        .filter(({ runId, decision }) => runId === run || holdsForSession(decision))
        .toSorted(byAskedAt);
    },
  };
}

function approvalsOf(data: ReferenceData, owner: OwnerId): ApprovalRow[] {
  return data.sessions
    .values()
    .filter(({ row }) => row.owner === owner)
    .flatMap(({ approvals }) => approvals.values())
    .toArray();
}

/** Oldest first; ties by smaller id. */
function byAskedAt(a: ApprovalCursor, b: ApprovalCursor): number {
  return a.askedAt - b.askedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

function shelfOf(row: SessionRow): Shelf {
  if (row.trashedAt !== null) return "trash";
  return row.archived ? "archived" : "active";
}

function isListed(row: SessionRow, query: ListQuery): boolean {
  const { shelf = "active", pinned, project, tag, workspace } = query;
  return (
    shelfOf(row) === shelf &&
    (pinned === undefined || row.pinned) &&
    (project === undefined || row.project === project) &&
    (workspace === undefined || row.workspace === workspace) &&
    (tag === undefined || row.tags.includes(tag))
  );
}

/** Newest first; ties by greater id. */
function byListOrder(
  a: Pick<SessionRow, "sortAt" | "id">,
  b: Pick<SessionRow, "sortAt" | "id">,
): number {
  return b.sortAt - a.sortAt || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
}

function readEntries(
  data: ReferenceData,
  session: SessionRow,
  { before, limit }: EntryQuery,
): EntryPage {
  const visible = session.ranges
    .filter(({ log = session.id }) => data.logs.get(log)?.owner === session.owner)
    .flatMap(({ log = session.id, from, to }) =>
      readableRows(data, log).filter(({ seq }) => seq >= from && seq <= (to ?? Infinity)),
    )
    .filter((event) => roleOf(event) === "entry" && event.seq < (before ?? Infinity));
  const start = Math.max(0, visible.length - limit);
  return { entries: visible.slice(start), more: start > 0 };
}

function readInbox(session: SessionData) {
  return [...session.inputs.values()]
    .filter((input) => input.state === "queued")
    .toSorted((a, b) => a.seq - b.seq);
}

function readJournal(data: ReferenceData, { row, runs }: SessionData): readonly StoredEvent[] {
  const run = row.liveRun === null ? undefined : runs.get(row.liveRun);
  if (run === undefined) return [];
  return readableRows(data, row.id).filter((event) => {
    const role = roleOf(event);
    const passing = role === "passing" || role === "delta";
    return passing && event.runId === run.id && event.seq >= run.journalFrom;
  });
}
