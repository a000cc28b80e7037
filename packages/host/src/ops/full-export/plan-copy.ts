import type { RawEvent, Store } from "@holdfast/engine";
import {
  decodeEvent,
  idFromBytes,
  roleOf,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";

import { digestOf } from "../import/derive-id.ts";
import type { LogLine } from "./format.ts";
import type { PlacedItem } from "./read-export.ts";

/**
 * What becomes of a log of the file. `new`: nothing of it is here. `continue`: its beginning is. `known`: all of it is.
 * `copy`: another log with its id is here, so it gets ids of its own. `deleted`: it was deleted here for good.
 */
export type LogPlan = "new" | "continue" | "known" | "copy" | "deleted";

/** Compares the logs of the file with those that are here, as the file is read. */
export class CopyPlanner {
  readonly #store: Pick<Store, "audit">;
  readonly #plans = new Map<SessionId, LogPlan>();
  readonly #purged = new Set<SessionId>();
  #here: { readonly events: AsyncIterator<RawEvent>; next: RawEvent | null } | null = null;
  #differs = false;
  #readsCopy = false;
  #isLonger = false;

  readonly #deleting: SessionId | null;

  private constructor(store: Pick<Store, "audit">, deleting: SessionId | null) {
    this.#store = store;
    this.#deleting = deleting;
  }

  /** `deleting`: the deleted session that an import was copying when it was stopped. */
  static async open(store: Pick<Store, "audit">, deleting: SessionId | null): Promise<CopyPlanner> {
    const planner = new CopyPlanner(store, deleting);
    for await (const { session } of store.audit.purges()) planner.#purged.add(session);
    return planner;
  }

  /** Those that are not `new`. */
  get plans(): ReadonlyMap<SessionId, LogPlan> {
    return this.#plans;
  }

  isPurged(session: SessionId): boolean {
    return this.#purged.has(session);
  }

  async add(item: PlacedItem): Promise<void> {
    if (item.kind === "log") await this.#begin(item.log);
    if (item.kind === "event") await this.#compare(item.event, item.link);
    if (item.kind === "damaged") this.#isLonger ||= this.#here === null;
    if (item.kind === "logEnd") await this.#end(item.log);
  }

  async #begin({ session }: LogLine): Promise<void> {
    this.#differs = false;
    this.#readsCopy = false;
    this.#isLonger = false;
    this.#here = null;
    if (this.#purged.has(session)) return;
    const events = this.#store.audit.events(session)[Symbol.asyncIterator]();
    const next = await nextLogged(events);
    if (next !== null) this.#here = { events, next };
  }

  async #compare(event: StoredEvent, link: string | null): Promise<void> {
    this.#readsCopy ||= originsOf(event).some((origin) => this.#plans.get(origin) === "copy");
    if (this.#here === null || this.#differs || roleOf(event) === "delta") return;
    const { next, events } = this.#here;
    if (next === null) {
      this.#isLonger = true;
      return;
    }
    this.#differs = !isSame(next, event, link);
    this.#here.next = await nextLogged(events);
  }

  async #end({ session, purged }: LogLine): Promise<void> {
    const here = this.#here;
    this.#here = null;
    await here?.events.return?.();
    if (this.#purged.has(session)) {
      this.#plans.set(session, purged === null ? "deleted" : "known");
    } else if (this.#differs || this.#readsCopy) {
      // What only branches read of it is read from the log that is here, as far as it is the same.
      this.#plans.set(session, "copy");
    } else if (here !== null) {
      const isOurs = session === this.#deleting || isMadeByImport(session, here.next);
      // One that was deleted over there, and not by an import that was stopped, stays here.
      const isWhole = purged === null ? !this.#isLonger : !isOurs;
      this.#plans.set(session, isWhole ? "known" : "continue");
    }
  }
}

/** The events that an import adds to a session that was deleted where the file was written. */
export const deletedSessionIds = {
  created: (session: SessionId) => idFromBytes("event", digestOf("deleted", session)),
  trashed: (session: SessionId) => idFromBytes("event", digestOf("trashed", session)),
  usage: (session: SessionId, seq: number) =>
    idFromBytes("event", digestOf("usage", session, String(seq))),
};

function isMadeByImport(session: SessionId, next: RawEvent | null): boolean {
  const { created, trashed, usage } = deletedSessionIds;
  if (next?.event == null) return false;
  const { id, seq } = next.event;
  return [created(session), trashed(session), usage(session, seq)].includes(id);
}

async function nextLogged(events: AsyncIterator<RawEvent>): Promise<RawEvent | null> {
  for (;;) {
    const next = await events.next();
    if (next.done === true) return null;
    if (next.value.place === "log") return next.value;
  }
}

/** Linked events are the same if their hashes are, which contain everything. */
function isSame({ seq, event, link }: RawEvent, other: StoredEvent, otherLink: string | null) {
  if (seq !== other.seq || event === null || event.id !== other.id) return false;
  if (link?.text != null || otherLink !== null) return link?.text === otherLink;
  return event.at === other.at && JSON.stringify(event.data) === JSON.stringify(other.data);
}

/** The logs that a branch reads, by its first event. */
function originsOf(event: StoredEvent): readonly SessionId[] {
  if (event.type !== "session.created") return [];
  const decoded = decodeEvent(event);
  if (decoded.kind !== "known" || decoded.event.type !== "session.created") return [];
  const { origin, ranges = [] } = decoded.event.data;
  const named = ranges.flatMap(({ log }) => (log === undefined ? [] : [log]));
  return [...(origin === undefined ? [] : [origin.sessionId]), ...named];
}
