import { crc32 } from "node:zlib";
import { z } from "zod";
import type { SearchRole } from "@holdfast/engine";
import { type Token, tokensOf, foldText, snippetText } from "../../shared/search-text/tokens.ts";
import { emptySession, foldSessionRow } from "@holdfast/engine/log";
import {
  decodeEvent,
  type DecodedEvent,
  type OwnerId,
  type SessionId,
  textOf,
  type TitleSource,
} from "@holdfast/protocol";
import type { Row, Connection } from "../connection.ts";
import { events } from "../../schema/tables.ts";
import { decodeEventRow, lastPosition } from "../events.ts";
import type { StoreHead } from "./indexer.ts";

/**
 * Tokens for a document's owner, session and role, so that a filter is one more posting list to intersect. Hits are
 * checked against the store anyway: a hash collision of two owners costs time but shows nothing.
 */
export function ownerToken(owner: string): Token {
  return `=o${crc32(owner).toString(36)}`;
}

export function sessionToken(key: number): Token {
  return `=s${key.toString(36)}`;
}

export function roleToken(role: SearchRole): Token {
  return `=r${role}`;
}

/** Event types whose text is searched. */
const searchableTypes = [
  "message.user",
  "message.assistant",
  "message.tool",
  "notice.added",
  "notice.changed",
] as const;
/** Event types that can set a session's title. */
const titleTypes: ReadonlySet<string> = new Set([
  "session.created",
  "session.changed",
  "input.accepted",
  "message.user",
]);
const indexedTypes: readonly string[] = [...new Set([...searchableTypes, ...titleTypes])];

export interface SearchableText {
  readonly role: SearchRole;
  readonly text: string;
}

export interface NewTitle {
  readonly title: string;
  readonly source: TitleSource;
}

type KnownEvent = Extract<DecodedEvent, { kind: "known" }>["event"];

/** The event of a row, or `undefined` if it is damaged or of a newer version: such rows aren't searched. */
export function knownEvent(row: Row): KnownEvent | undefined {
  const read = decodeEventRow(row);
  const decoded = read.status === "intact" ? decodeEvent(read.event) : undefined;
  return decoded?.kind === "known" ? decoded.event : undefined;
}

export function searchableTextOf(event: KnownEvent): SearchableText | undefined {
  switch (event.type) {
    case "message.user":
      return { role: "user", text: textOf(event.data.parts) };
    case "message.assistant":
      return { role: "assistant", text: textOf(event.data.parts) };
    case "message.tool":
      return { role: "tool", text: textOf(event.data.parts) };
    case "notice.added":
    case "notice.changed":
      return { role: "notice", text: event.data.text };
    default:
      return undefined;
  }
}

export function canSetTitle(type: string, source: TitleSource | null): boolean {
  if (source === null) return titleTypes.has(type);
  return type === "session.created" || type === "session.changed";
}

const placeholderTitle = "\0";

/** The title that an event gives a session whose current title has this source, by the rules of the log. */
export function titleFrom(
  event: KnownEvent,
  session: { readonly id: SessionId; readonly owner: OwnerId },
  source: TitleSource | null,
): NewTitle | undefined {
  const createdEvent = { id: event.id, type: "session.created", v: 1, data: {} };
  const before = {
    ...emptySession({ owner: session.owner, session: session.id }, createdEvent, event.at),
    title: source === null ? null : placeholderTitle,
    titleSource: source,
  };
  const { title, titleSource } = foldSessionRow(before, { kind: "known", event });
  if (title === null || titleSource === null || title === before.title) return undefined;
  return { title, source: titleSource };
}

export interface DocumentTimes {
  readonly first: number;
  readonly last: number;
  readonly minAt: number;
  readonly maxAt: number;
}

const maxStretchDocs = 512;

/** Adds documents to the newest stretch, or starts another when that is long enough. */
function recordTimes(index: Connection, { first, last, minAt, maxAt }: DocumentTimes): void {
  const newest = index
    .sql("SELECT first_doc FROM stretches ORDER BY first_doc DESC LIMIT 1")
    .get()?.["first_doc"];
  if (newest === undefined || first - Number(newest) >= maxStretchDocs) {
    index.sql("INSERT INTO stretches VALUES (?, ?, ?, ?)").run(first, last, minAt, maxAt);
    return;
  }
  index
    .sql(
      `UPDATE stretches SET last_doc = ?, min_at = min(min_at, ?), max_at = max(max_at, ?)
        WHERE first_doc = ?`,
    )
    .run(last, minAt, maxAt, newest);
}

export interface DocRange {
  readonly from: number;
  readonly to: number;
}

/** The range includes every document of that time, and possibly others. */
export function docsWithin(index: Connection, since: number, until: number): DocRange | undefined {
  const row = index
    .sql(
      `SELECT min(first_doc) AS "from", max(last_doc) AS "to" FROM stretches
        WHERE max_at >= ? AND min_at <= ?`,
    )
    .get(since, until);
  if (row === undefined || row["from"] === null) return undefined;
  return { from: Number(row["from"]), to: Number(row["to"]) };
}

export interface DocumentSource {
  readonly pos: number;
  readonly at: number;
  readonly key: number;
  readonly owner: string;
}

/** Assigns ids, tokens and times to the documents of one step. */
export class DocumentWriter {
  readonly #index: Connection;
  readonly #first: number;
  next: number;
  #minAt = Infinity;
  #maxAt = -Infinity;

  constructor(index: Connection, next: number) {
    this.#index = index;
    this.#first = next;
    this.next = next;
  }

  add({ pos, at, key, owner }: DocumentSource, { role, text }: SearchableText): number {
    const id = this.next++;
    const tokens = tokensOf(foldText(snippetText(text)));
    tokens.add(ownerToken(owner)).add(sessionToken(key)).add(roleToken(role));
    const place = pos * 2 + (role === "title" ? 1 : 0);
    this.#index.sql("INSERT INTO documents VALUES (?, ?)").run(id, place);
    this.#index
      .sql("INSERT INTO postings (rowid, tokens) VALUES (?, ?)")
      .run(id, [...tokens].join(" "));
    this.#minAt = Math.min(this.#minAt, at);
    this.#maxAt = Math.max(this.#maxAt, at);
    return id;
  }

  finish(): void {
    if (this.next === this.#first) return;
    recordTimes(this.#index, {
      first: this.#first,
      last: this.next - 1,
      minAt: this.#minAt,
      maxAt: this.#maxAt,
    });
  }
}

export function dropDocument(index: Connection, id: number): void {
  index.sql("DELETE FROM postings WHERE rowid = ?").run(id);
  index.sql("DELETE FROM documents WHERE id = ?").run(id);
}

/** The store itself could not be read, which says nothing about the index. */
export class StoreUnreadable extends Error {}

const eventColumns = events.columns.map(({ name }) => `e.${name}`).join(", ");
const types = indexedTypes.map((type) => `'${type}'`).join(", ");
const eventsAfter = `
  SELECT e.pos, e.session_key, s.id AS session_id, s.owner_id, ${eventColumns}
    FROM events e LEFT JOIN sessions s ON s.key = e.session_key
   WHERE e.pos > ? AND e.pos <= ? AND e.type IN (${types}) ORDER BY e.pos`;

export interface LogRange {
  readonly rows: readonly Row[];
  /** `rows` contains everything up to here that is indexed. */
  readonly upTo: number;
}

/** What the index reads from the store, on a read-only connection. */
export class StoreReader {
  readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  head(): StoreHead {
    return readStore(() => {
      const log = this.connection.sql(`SELECT ${lastPosition} AS pos`).get();
      const purges = this.connection.sql("SELECT max(rowid) AS n FROM purges").get();
      return { pos: Number(log?.["pos"] ?? 0), purges: Number(purges?.["n"] ?? 0) };
    });
  }

  /** The next events after a position that have text or titles, limited in rows and bytes. */
  following(pos: number, { rows: maxRows, bytes: maxBytes, positions }: ReadBounds): LogRange {
    return readStore(() => {
      const end = Math.min(this.head().pos, pos + positions);
      const rows: Row[] = [];
      let bytes = 0;
      for (const row of this.connection.database.prepare(eventsAfter).iterate(pos, end)) {
        rows.push(row);
        bytes += String(row["data"]).length;
        if (rows.length === maxRows || bytes >= maxBytes) return { rows, upTo: Number(row["pos"]) };
      }
      return { rows, upTo: end };
    });
  }

  eventAt(pos: number): Row | undefined {
    return readStore(() =>
      this.connection
        .sql(`SELECT e.pos, e.session_key, ${eventColumns} FROM events e WHERE e.pos = ?`)
        .get(pos),
    );
  }

  eventOf(key: number, seq: number): Row | undefined {
    return this.connection
      .sql(`SELECT ${eventColumns} FROM events e WHERE e.session_key = ? AND e.seq = ?`)
      .get(key, seq);
  }

  eventIdAt(pos: number): string | undefined {
    return readStore(() => {
      const row = this.connection.sql("SELECT id FROM events WHERE pos = ?").get(pos);
      return row && String(row["id"]);
    });
  }

  purgedOwner(key: number): string | undefined {
    return readStore(() => {
      const row = this.connection.sql("SELECT owner_id FROM purges WHERE session_key = ?").get(key);
      return row && String(row["owner_id"]);
    });
  }

  purgesAfter(after: number): readonly { readonly rowid: number; readonly key: number }[] {
    return readStore(() =>
      this.connection
        .sql(
          "SELECT rowid, session_key AS key FROM purges WHERE rowid > ? ORDER BY rowid LIMIT 1000",
        )
        .all(after)
        .map((row) => purgeShape.parse(row)),
    );
  }
}

export interface ReadBounds {
  readonly rows: number;
  readonly bytes: number;
  readonly positions: number;
}

const purgeShape = z.object({ rowid: z.int(), key: z.int() });

export function readStore<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnreadable(`The store could not be read: ${reason}`, { cause: error });
  }
}
