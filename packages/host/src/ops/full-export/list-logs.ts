import type { Audit, PurgeRow, SessionRow } from "@holdfast/engine";
import { decodeEvent, type OwnerId, type SessionId } from "@holdfast/protocol";

export interface ListedLog {
  readonly session: SessionId;
  readonly owner: OwnerId;
  readonly purged: { readonly at: number; readonly events: number } | null;
}

/** Every log, each after those that it reads as a branch. */
export async function listLogs(
  audit: Pick<Audit, "sessions" | "purges" | "events">,
): Promise<readonly ListedLog[]> {
  const listed = new Map<SessionId, ListedLog & { readonly origins: readonly SessionId[] }>();
  for await (const row of audit.sessions())
    listed.set(row.id, {
      session: row.id,
      owner: row.owner,
      purged: null,
      origins: originsOf(row),
    });
  for await (const purge of audit.purges())
    if (!listed.has(purge.session)) listed.set(purge.session, await purgedLog(audit, purge));
  const ordered = new Set<SessionId>();
  for (const id of listed.keys()) addAfterOrigins(id, listed, ordered);
  return [...ordered].flatMap((id) => {
    const found = listed.get(id);
    if (found === undefined) return [];
    const { session, owner, purged } = found;
    return [{ session, owner, purged }];
  });
}

/** Without recursion: branches of branches may be as deep as somebody likes. */
function addAfterOrigins(
  first: SessionId,
  logs: ReadonlyMap<SessionId, { readonly origins: readonly SessionId[] }>,
  ordered: Set<SessionId>,
): void {
  const open = [first];
  const entered = new Set<SessionId>();
  for (let id = open.at(-1); id !== undefined; id = open.at(-1)) {
    const missing = entered.has(id)
      ? []
      : (logs.get(id)?.origins ?? []).filter((origin) => logs.has(origin) && !ordered.has(origin));
    entered.add(id);
    const next = missing.filter((origin) => !entered.has(origin));
    if (next.length > 0) open.push(...next);
    else {
      ordered.add(id);
      open.pop();
    }
  }
}

function originsOf({ origin, ranges }: Pick<SessionRow, "origin" | "ranges">): SessionId[] {
  const named = ranges.flatMap(({ log }) => (log === undefined ? [] : [log]));
  return [...(origin === null ? [] : [origin.sessionId]), ...named];
}

/** A purged session has no row any more; what it branched off is in its first event, if that was kept. */
async function purgedLog(
  audit: Pick<Audit, "events">,
  { session, owner, at, events }: PurgeRow,
): Promise<ListedLog & { readonly origins: readonly SessionId[] }> {
  const log = { session, owner, purged: { at, events } };
  for await (const { event } of audit.events(session)) {
    const decoded = event === null ? undefined : decodeEvent(event);
    if (decoded?.kind !== "known" || decoded.event.type !== "session.created") break;
    const { origin = null, ranges = [] } = decoded.event.data;
    return { ...log, origins: originsOf({ origin, ranges }) };
  }
  return { ...log, origins: [] };
}
