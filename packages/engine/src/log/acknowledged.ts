import type { OwnerId, Seq, SessionId, StoredEvent } from "@holdfast/protocol";
import type { Audit } from "../ports/audit.ts";
import type { Reads } from "../ports/reads.ts";
import type { Store } from "../ports/store.ts";

/** A database that failed over, or was restored, lacks events that this process has acknowledged or shown. */
export interface LostEvents {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** The last event that was acknowledged or shown here. */
  readonly upTo: Seq;
  /** The head of what is left; `null` when the whole session is gone. */
  readonly head: Seq | null;
}

interface Noted {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly event: Pick<StoredEvent, "seq" | "id" | "type">;
}

const maxSessions = 500;
/** Enough to check all of them within a second or two, without keeping readers from their own reads. */
const parallelReads = 2;

/** The newest event of each session that this process has acknowledged or shown, for the sessions in use. */
export class AcknowledgedEvents {
  readonly #noted = new Map<SessionId, Noted>();

  /** `false` if the session had got further before: unless others wrote in between, something was lost. */
  note(owner: OwnerId, session: SessionId, event: Noted["event"]): boolean {
    const known = this.#noted.get(session);
    if (known !== undefined && known.event.seq >= event.seq) return known.event.id === event.id;
    // The sessions that were used last are at the end.
    this.#noted.delete(session);
    this.#noted.set(session, { owner, session, event });
    for (const oldest of this.#noted.keys()) {
      if (this.#noted.size <= maxSessions) break;
      this.#noted.delete(oldest);
    }
    return true;
  }

  /** Compares one session or all with what is stored. What is found to be lost is forgotten, and so reported once. */
  async findLost(
    { reads, audit }: Pick<Store, "reads" | "audit">,
    only?: SessionId,
  ): Promise<readonly LostEvents[]> {
    const pending = [...this.#noted.values()].filter(
      ({ session }) => only === undefined || session === only,
    );
    const lost = new Map<Noted, LostEvents>();
    const work = async (): Promise<void> => {
      for (let noted = pending.pop(); noted !== undefined; noted = pending.pop()) {
        const found = await compare(noted, reads);
        if (found !== null) lost.set(noted, found);
      }
    };
    await Promise.all(Array.from({ length: parallelReads }, work));
    const found = await withoutPurged([...lost.values()], audit);
    // Only now: if the database goes away again meanwhile, the next look finds them too.
    for (const noted of lost.keys())
      if (this.#noted.get(noted.session) === noted) this.#noted.delete(noted.session);
    return found;
  }
}

/** Another host may have trashed a session and deleted it for good without anybody here having seen it. */
async function withoutPurged(
  lost: readonly LostEvents[],
  audit: Pick<Audit, "purges">,
): Promise<readonly LostEvents[]> {
  const missing = new Set(lost.filter(({ head }) => head === null).map(({ session }) => session));
  if (missing.size === 0) return lost;
  for await (const { session } of audit.purges()) missing.delete(session);
  return lost.filter(({ session, head }) => head !== null || missing.has(session));
}

async function compare(
  { owner, session, event }: Noted,
  reads: Pick<Reads, "events">,
): Promise<LostEvents | null> {
  const after = (event.seq - 1) as Seq;
  const page = await reads.events(owner, session, { after, limit: 1 });
  // Only a trashed session is deleted for good.
  if (page === null)
    return event.type === "session.trashed"
      ? null
      : { owner, session, upTo: event.seq, head: null };
  const [stored] = page.events;
  // A settled delta is pruned; then another event follows.
  const isReplaced = stored?.seq === event.seq && stored.id !== event.id;
  if (page.head >= event.seq && !isReplaced) return null;
  return { owner, session, upTo: event.seq, head: page.head };
}
