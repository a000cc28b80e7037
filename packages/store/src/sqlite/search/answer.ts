import type { SearchHit, SearchQuery } from "@holdfast/engine";
import { type OwnerId, seq } from "@holdfast/protocol";
import { z } from "zod";

import { findSnippet, parseTerms, type Term } from "../../shared/search-text/query.ts";
import { foldWithOrigins, snippetText } from "../../shared/search-text/tokens.ts";
import type { Connection, Row } from "../connection.ts";
import {
  knownEvent,
  searchableTextOf,
  type DocRange,
  docsWithin,
  type StoreReader,
} from "./documents.ts";
import { type TokenFrequencies, planMatch } from "./match-plan.ts";
import { readProgress } from "./indexer.ts";
import { type ShowingSession, type VisibleSession, VisibleSessions } from "./visible-sessions.ts";

export interface SearchPage {
  readonly status: "ok";
  readonly hits: readonly SearchHit[];
  readonly next: string | null;
  readonly indexing?: true;
}

/** After this many candidates a page is returned as it is, with a cursor: the thread has other requests to serve. */
const maxCandidates = 400;

const candidatesBelow = `
  SELECT postings.rowid AS id, d.place FROM postings CROSS JOIN documents d ON d.id = postings.rowid
   WHERE postings MATCH ? AND postings.rowid >= ? AND postings.rowid <= ? ORDER BY postings.rowid DESC LIMIT ? + 0`;

/** Newest first. The index says where to look; hits show what the store holds now. */
export class HitFinder {
  readonly #store: StoreReader;
  readonly #frequencies: TokenFrequencies;

  constructor(store: StoreReader, frequencies: TokenFrequencies) {
    this.#store = store;
    this.#frequencies = frequencies;
  }

  answer(index: Connection, owner: OwnerId, query: SearchQuery): SearchPage {
    const progress = readProgress(index);
    const unfinished = progress === undefined || progress.pos < progress.goal;
    const indexing = unfinished ? ({ indexing: true } as const) : {};
    const noHits: SearchPage = { status: "ok", hits: [], next: null, ...indexing };
    const terms = parseTerms(query.text);
    const sessions = new VisibleSessions(this.#store, owner);
    const session = query.session === undefined ? undefined : sessions.byId(query.session);
    const range = docRange(index, query);
    if (terms.length === 0 || session === null || range === undefined || progress === undefined)
      return noHits;

    this.#frequencies.refresh(index, this.#store, progress.next_doc - 1);
    const scope = {
      owner,
      ...(query.role !== undefined && { role: query.role }),
      ...(session !== undefined && { logs: sessions.logsOf(session) }),
    };
    const match = planMatch(terms, scope, this.#frequencies);
    const candidates = new CandidateReader(this.#store, sessions, terms, query, session);
    return { ...this.#collect(index, match, range, query.limit, candidates), ...indexing };
  }

  #collect(
    index: Connection,
    match: string,
    range: DocRange,
    limit: number,
    candidates: CandidateReader,
  ): SearchPage {
    const hits: SearchHit[] = [];
    let { to } = range;
    let checked = 0;
    for (let size = Math.min(limit + 12, maxCandidates); ; size = maxCandidates - checked) {
      const rows = index.sql(candidatesBelow).all(match, range.from, to, size);
      for (const row of rows) {
        const place = Number(row["place"]);
        const hit = candidates.read(place);
        if (hit !== undefined) hits.push(hit);
        if (hits.length === limit) return { status: "ok", hits, next: cursorAt(place) };
        to = Number(row["id"]) - 1;
      }
      checked += rows.length;
      if (rows.length < size) return { status: "ok", hits, next: null };
      if (checked === maxCandidates)
        return { status: "ok", hits, next: cursorAt(Number(rows.at(-1)?.["place"])) };
    }
  }
}

/** Checks documents one by one against the same query. */
class CandidateReader {
  readonly #store: StoreReader;
  readonly #sessions: VisibleSessions;
  readonly #terms: readonly Term[];
  readonly #query: SearchQuery;
  readonly #session: VisibleSession | undefined;
  readonly #needles: readonly string[];

  constructor(
    store: StoreReader,
    sessions: VisibleSessions,
    terms: readonly Term[],
    query: SearchQuery,
    session: VisibleSession | undefined,
  ) {
    this.#store = store;
    this.#sessions = sessions;
    this.#terms = terms;
    this.#query = query;
    this.#session = session;
    this.#needles = terms.map(longestWordOf);
  }

  read(place: number): SearchHit | undefined {
    const row = this.#store.eventAt(Math.floor(place / 2));
    if (row === undefined || !this.#isInTime(Number(row["at"]))) return undefined;
    return place % 2 === 1 ? this.#title(row) : this.#entry(row);
  }

  #title(row: Row): SearchHit | undefined {
    const session = this.#sessions.byKey(Number(row["session_key"]));
    const { session: wantedSession, role } = this.#query;
    if (session === null || session.title === null) return undefined;
    if (
      (wantedSession !== undefined && wantedSession !== session.id) ||
      (role !== undefined && role !== "title")
    )
      return undefined;
    return this.#hit(row, { session }, "title", session.title);
  }

  #entry(row: Row): SearchHit | undefined {
    if (this.#cannotMatch(String(row["data"]))) return undefined;
    const log = Number(row["session_key"]);
    const entrySeq = Number(row["seq"]);
    const showing = this.#sessionShowing(log, entrySeq);
    if (showing === null) return undefined;
    const event = knownEvent(row);
    const searchable = event && searchableTextOf(event);
    const { role } = this.#query;
    if (searchable === undefined || (role !== undefined && role !== searchable.role))
      return undefined;
    return this.#hit(row, showing, searchable.role, searchable.text);
  }

  #sessionShowing(log: number, entrySeq: number): ShowingSession | null {
    const { onlyInView } = this.#query;
    const session = this.#session;
    if (session === undefined) {
      const found = this.#sessions.sessionShowing(log, entrySeq);
      if (found !== null || onlyInView === true) return found;
      return this.#sessions.sessionHiding(log, entrySeq);
    }
    if (this.#sessions.shows(session, log, entrySeq)) return { session };
    return onlyInView === true ? null : this.#sessions.hiddenIn(session, log, entrySeq);
  }

  #hit(
    row: Row,
    { session, alternative }: ShowingSession,
    role: SearchHit["role"],
    text: string,
  ): SearchHit | undefined {
    const snippet = findSnippet(foldWithOrigins(snippetText(text)), this.#terms);
    if (snippet === undefined) return undefined;
    const { id, title } = session;
    return {
      session: id,
      title,
      seq: seq.parse(row["seq"]),
      role,
      at: Number(row["at"]),
      ...(alternative !== undefined && { alternative }),
      ...snippet,
    };
  }

  /** Rules out most documents by their raw JSON, without parsing it: ASCII letters appear in it unescaped. */
  #cannotMatch(data: string): boolean {
    if (!onlyAscii.test(data)) return false;
    const folded = data.toLowerCase();
    return this.#needles.some((needle) => !folded.includes(needle));
  }

  #isInTime(at: number): boolean {
    const { since, until } = this.#query;
    return (since === undefined || at >= since) && (until === undefined || at <= until);
  }
}

const onlyAscii = /^[\0-\x7f]*$/;

/** The longest plain word of a term; the empty string is in every text. */
function longestWordOf({ pattern }: Term): string {
  const words = pattern.literals.flatMap((literal) => literal.match(/[a-z0-9]+/g) ?? []);
  return words.toSorted((a, b) => b.length - a.length)[0] ?? "";
}

/** A cursor names a position in the log, which stays the same when the index is rebuilt. */
function cursorAt(place: number): string {
  return `p${place.toString(36)}`;
}

const cursorShape = z
  .string()
  .regex(/^p[0-9a-z]{1,11}$/)
  .transform((text) => Number.parseInt(text.slice(1), 36))
  .pipe(z.int().nonnegative());

/** The documents that may match, or `undefined` if there are none. A foreign cursor matches nothing. */
function docRange(index: Connection, { since, until, cursor }: SearchQuery): DocRange | undefined {
  let range: DocRange | undefined = { from: 0, to: Number.MAX_SAFE_INTEGER };
  if (since !== undefined || until !== undefined)
    range = docsWithin(index, since ?? -Infinity, until ?? Infinity);
  if (range === undefined || cursor === undefined) return range;
  const place = cursorShape.safeParse(cursor);
  if (!place.success) return undefined;
  const last = lastDocBefore(index, place.data);
  return last === undefined ? undefined : { from: range.from, to: Math.min(range.to, last) };
}

/** Document ids and places grow together, so binary search works. */
function lastDocBefore(index: Connection, place: number): number | undefined {
  const newest = index.sql("SELECT max(id) AS id FROM documents").get()?.["id"];
  let low = 0;
  let high = Number(newest ?? 0);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const row = index
      .sql("SELECT place FROM documents WHERE id >= ? ORDER BY id LIMIT 1")
      .get(middle);
    if (row !== undefined && Number(row["place"]) < place) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? undefined : low;
}
