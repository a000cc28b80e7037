import type { Reads } from "@holdfast/engine";

import { decodeEntryPage, decodeEventPage, decodeEventRows, type ReportDamage } from "./events.ts";
import { decodeList } from "./list.ts";
import { type InlineQuery } from "./near-reader.ts";
import { type Queries } from "./queries.ts";
import { readSnapshot } from "./whole-snapshot.ts";

type RunQuery<Names extends keyof Queries> = <Name extends Names>(
  name: Name,
  args: Parameters<Queries[Name]>,
) => Promise<ReturnType<Queries[Name]>>;

interface ReadDeps {
  /** Whatever it is, by the thread that reads. */
  readonly queryInThread: RunQuery<keyof Queries>;
  /** What is small on the spot, the rest like the others. */
  readonly queryInline: RunQuery<InlineQuery>;
}

export function createReads(
  { queryInThread: ask, queryInline: glance }: ReadDeps,
  report: ReportDamage,
): Reads {
  return {
    session: (...args) => glance("session", args),
    sessions: async (owner, query) => decodeList(await glance("sessions", [owner, query]), query),
    listed: (...args) => glance("listed", args),
    events: async (...args) => decodeEventPage(await ask("events", args), report),
    entries: async (...args) => decodeEntryPage(await glance("entries", args), report),
    snapshot: (...args) =>
      readSnapshot(
        {
          snapshot: () => glance("snapshot", args),
          deltas: (from) => ask("deltas", [from]),
        },
        report,
      ),
    event: async (...args) => decodeEventRows(await ask("event", args), report)[0] ?? null,
    run: (...args) => glance("run", args),
    lane: (...args) => glance("lane", args),
    lanes: (...args) => glance("lanes", args),
    // What is asked for of a session is little; that of all may be what a whole table holds.
    outbox: (owner, query) =>
      (query.session === undefined ? ask : glance)("outbox", [owner, query]),
    inbound: (...args) => glance("inbound", args),
    usage: (...args) => ask("usage", args),
    blob: (...args) => ask("blob", args),
    approval: (...args) => glance("approval", args),
    approvals: (...args) => glance("approvals", args),
    answered: (...args) => ask("answered", args),
    unremembered: (...args) => ask("unremembered", args),
    memory: (...args) => ask("memory", args),
    approvalsFor: (...args) => glance("approvalsFor", args),
  };
}
