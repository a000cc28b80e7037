import type { OwnerId, Seq, SessionId, StoredEvent } from "@holdfast/protocol";
import type { Reads } from "../ports/reads.ts";

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
  async findLost(reads: Pick<Reads, "events">, only?: SessionId): Promise<LostEvents[]> {
    const pending = [...this.#noted.values()].filter(
      ({ session }) => only === undefined || session === only,
    );
    const lost: LostEvents[] = [];
    const work = async (): Promise<void> => {
      for (let noted = pending.pop(); noted !== undefined; noted = pending.pop()) {
        const found = await compare(noted, reads);
        if (found === null) continue;
        lost.push(found);
        if (this.#noted.get(noted.session) === noted) this.#noted.delete(noted.session);
      }
    };
    await Promise.all(Array.from({ length: parallelReads }, work));
    return lost;
  }
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
