import type { SearchQuery } from "@holdfast/engine";
import {
  alternative,
  alternativeWith,
  type HiddenAlternative,
  hiddenAlternatives,
  type MessageId,
  ownerId,
  type Seq,
  type SeqRange,
  seqRange,
  sessionId,
} from "@holdfast/protocol";
import { z } from "zod";

import type { Row } from "../connection.ts";
import { viewBefore } from "../../shared/view-before.ts";
import { knownEvent, readStore, type StoreReader } from "./documents.ts";

const shape = z.object({
  key: z.int(),
  id: sessionId,
  owner_id: ownerId,
  title: z.string().nullable(),
  trashed_at: z.int().nullable(),
  ranges: z.string(),
  alternatives: z.string(),
});
const storedRanges = z.array(seqRange);
const storedAlternatives = z.array(z.array(alternative));
const columns = "key, id, owner_id, title, trashed_at, ranges, alternatives";

export interface VisibleSession {
  readonly key: number;
  readonly id: z.infer<typeof sessionId>;
  readonly title: string | null;
  readonly ranges: z.infer<typeof storedRanges>;
  readonly alternatives: z.infer<typeof storedAlternatives>;
}

/** A session that shows an entry, at once or with another version of a turn. */
export interface ShowingSession {
  readonly session: VisibleSession;
  readonly alternative?: MessageId;
}

/** What one owner may see now, whatever the index remembers. Cached for one page of one search. */
export class VisibleSessions {
  readonly #store: StoreReader;
  readonly #owner: string;
  readonly #byKey = new Map<number, VisibleSession | null>();
  readonly #hidden = new Map<number, readonly HiddenAlternative[]>();
  readonly #logIds = new Map<number, string | null>();
  readonly #branches = new Map<string, readonly VisibleSession[]>();

  constructor(store: StoreReader, owner: string) {
    this.#store = store;
    this.#owner = owner;
  }

  byId(id: NonNullable<SearchQuery["session"]>): VisibleSession | null {
    return this.#decode(this.#get(`SELECT ${columns} FROM sessions WHERE id = ?`, id));
  }

  byKey(key: number): VisibleSession | null {
    let session = this.#byKey.get(key);
    if (session === undefined) {
      session = this.#decode(this.#get(`SELECT ${columns} FROM sessions WHERE key = ?`, key));
      this.#byKey.set(key, session);
    }
    return session;
  }

  /** The session that shows an entry: the one whose log it is in, or else a branch that reads it. */
  sessionShowing(logKey: number, seq: number): ShowingSession | null {
    const sessions = [this.byKey(logKey), ...this.#branchesOf(logKey)].filter(
      (one) => one !== null,
    );
    const session = sessions.find((one) => this.shows(one, logKey, seq));
    return session === undefined ? null : { session };
  }

  /** The session that would show an entry with another version of a turn. */
  sessionHiding(logKey: number, seq: number): ShowingSession | null {
    for (const session of [this.byKey(logKey), ...this.#branchesOf(logKey)]) {
      const found = session && this.hiddenIn(session, logKey, seq);
      if (found) return found;
    }
    return null;
  }

  shows(session: VisibleSession, logKey: number, seq: number): boolean {
    return this.#contains(session, session.ranges, logKey, seq);
  }

  hiddenIn(session: VisibleSession, logKey: number, seq: number): ShowingSession | null {
    const contains = (ranges: readonly SeqRange[]): boolean =>
      this.#contains(session, ranges, logKey, seq);
    const found = alternativeWith(this.#hiddenAlternatives(session), contains, seq as Seq);
    return found === undefined ? null : { session, alternative: found.messageId };
  }

  #contains(
    session: VisibleSession,
    ranges: readonly SeqRange[],
    logKey: number,
    seq: number,
  ): boolean {
    return ranges.some(
      ({ from, to, log }) =>
        seq >= from &&
        (to === null || seq <= to) &&
        (log === undefined ? session.key === logKey : log === this.#logId(logKey)),
    );
  }

  #hiddenAlternatives(session: VisibleSession): readonly HiddenAlternative[] {
    let hidden = this.#hidden.get(session.key);
    if (hidden === undefined) {
      hidden = hiddenAlternatives(session, (left) => {
        const row = readStore(() => this.#store.eventOf(session.key, left));
        return row && viewBefore(knownEvent(row));
      });
      this.#hidden.set(session.key, hidden);
    }
    return hidden;
  }

  /** Every log that has entries of the session. */
  logsOf(session: VisibleSession): readonly number[] {
    const views = [session, ...this.#hiddenAlternatives(session)];
    const logs = new Set(views.flatMap(({ ranges }) => ranges.map(({ log }) => log)));
    const keys = [...logs].flatMap((log) => {
      if (log === undefined) return [];
      const row = this.#get(keyOfLog, log);
      return row === undefined ? [] : [Number(row["key"])];
    });
    return [...new Set([session.key, ...keys])];
  }

  #branchesOf(logKey: number): readonly VisibleSession[] {
    const id = this.#logId(logKey);
    if (id === null) return [];
    let branches = this.#branches.get(id);
    if (branches === undefined) {
      branches = readStore(() =>
        this.#store.connection
          .sql("SELECT session_key AS key FROM branches WHERE log_id = ? ORDER BY session_key DESC")
          .all(id),
      )
        .map((row) => this.byKey(Number(row["key"])))
        .filter((session) => session !== null);
      this.#branches.set(id, branches);
    }
    return branches;
  }

  /** Also finds a purged session, whose rows a branch may still read. */
  #logId(key: number): string | null {
    let id = this.#logIds.get(key);
    if (id === undefined) {
      const row = this.#get(
        "SELECT id FROM sessions WHERE key = ?1 UNION ALL SELECT session_id FROM purges WHERE session_key = ?1",
        key,
      );
      id = row === undefined ? null : String(row["id"]);
      this.#logIds.set(key, id);
    }
    return id;
  }

  #get(sql: string, value: string | number): Row | undefined {
    return readStore(() => this.#store.connection.sql(sql).get(value));
  }

  /** Another owner's session reads like one that doesn't exist, and so does one in the trash. */
  #decode(row: Row | undefined): VisibleSession | null {
    const parsed = shape.safeParse(row);
    if (!parsed.success || parsed.data.owner_id !== this.#owner || parsed.data.trashed_at !== null)
      return null;
    const { key, id, title, ranges, alternatives } = parsed.data;
    return {
      key,
      id,
      title,
      ranges: storedRanges.parse(JSON.parse(ranges)),
      alternatives: storedAlternatives.parse(JSON.parse(alternatives)),
    };
  }
}

const keyOfLog = `
  SELECT key FROM sessions WHERE id = ?1 UNION ALL SELECT session_key FROM purges WHERE session_id = ?1`;
