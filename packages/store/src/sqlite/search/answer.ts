import type { SearchHit, SearchQuery } from "@holdfast/engine";
import { type OwnerId, seq } from "@holdfast/protocol";
import { z } from "zod";

import { findSnippet, parseTerms, type Term } from "../../shared/search-text/query.ts";
import { foldWithOrigins, snippetText } from "../../shared/search-text/fold.ts";
import type { Connection, Row } from "../connection.ts";
import { knownEvent, searchableTextOf, type DocRange, docsWithin } from "./documents.ts";
import { type TokenFrequencies, planMatch } from "./match-plan.ts";
import { readProgress } from "./indexer.ts";
import type { StoreReader } from "./store-reader.ts";
import { type VisibleSession, VisibleSessions } from "./visible-sessions.ts";

export interface SearchPage {
  readonly status: "ok";
  readonly hits: readonly SearchHit[];
  readonly next: string | null;
  readonly indexing?: true;
}

/** After so many texts a page is given back as it is, with the place to go on from: the thread has others to serve. */
const maxCandidates = 400;

const candidatesBelow = `
  SELECT postings.rowid AS id, d.place FROM postings CROSS JOIN documents d ON d.id = postings.rowid
   WHERE postings MATCH ? AND postings.rowid >= ? AND postings.rowid <= ? ORDER BY postings.rowid DESC LIMIT ? + 0`;

/** Newest first. The index says where to look; what is shown is what the store says now. */
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
    const nothing: SearchPage = { status: "ok", hits: [], next: null, ...indexing };
    const terms = parseTerms(query.text);
    const sessions = new VisibleSessions(this.#store, owner);
    const session = query.session === undefined ? undefined : sessions.byId(query.session);
    const range = docRange(index, query);
    if (terms.length === 0 || session === null || range === undefined || progress === undefined)
      return nothing;

    this.#frequencies.refresh(index, this.#store, progress.next_doc - 1);
    const scope = {
      owner,
      ...(query.role !== undefined && { role: query.role }),
      ...(session !== undefined && { logs: sessions.logsOf(session) }),
    };
    const match = planMatch(terms, scope, this.#frequencies);
    const look = new CandidateReader(this.#store, sessions, terms, query, session);
    return { ...this.#collect(index, match, range, query.limit, look), ...indexing };
  }

  #collect(
    index: Connection,
    match: string,
    range: DocRange,
    limit: number,
    look: CandidateReader,
  ): SearchPage {
    const hits: SearchHit[] = [];
    let { to } = range;
    let looks = 0;
    for (let size = Math.min(limit + 12, maxCandidates); ; size = maxCandidates - looks) {
      const rows = index.sql(candidatesBelow).all(match, range.from, to, size);
      for (const row of rows) {
        const place = Number(row["place"]);
        const hit = look.at(place);
        if (hit !== undefined) hits.push(hit);
        if (hits.length === limit) return { status: "ok", hits, next: cursorAt(place) };
        to = Number(row["id"]) - 1;
      }
      looks += rows.length;
      if (rows.length < size) return { status: "ok", hits, next: null };
      if (looks === maxCandidates)
        return { status: "ok", hits, next: cursorAt(Number(rows.at(-1)?.["place"])) };
    }
  }
}

/** Looks at one document after another with the same question. */
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

  at(place: number): SearchHit | undefined {
    const row = this.#store.eventAt(Math.floor(place / 2));
    if (row === undefined || !this.#isInTime(Number(row["at"]))) return undefined;
    return place % 2 === 1 ? this.#title(row) : this.#entry(row);
  }

  #title(row: Row): SearchHit | undefined {
    const session = this.#sessions.byKey(Number(row["session_key"]));
    const { session: asked, role } = this.#query;
    if (session === null || session.title === null) return undefined;
    if ((asked !== undefined && asked !== session.id) || (role !== undefined && role !== "title"))
      return undefined;
    return this.#hit(row, session, "title", session.title);
  }

  #entry(row: Row): SearchHit | undefined {
    if (this.#cannotMatch(String(row["data"]))) return undefined;
    const log = Number(row["session_key"]);
    const number = Number(row["seq"]);
    const session =
      this.#session === undefined
        ? this.#sessions.sessionShowing(log, number)
        : this.#sessions.shows(this.#session, log, number) && this.#session;
    if (!session) return undefined;
    const event = knownEvent(row);
    const spoken = event && searchableTextOf(event);
    const { role } = this.#query;
    if (spoken === undefined || (role !== undefined && role !== spoken.role)) return undefined;
    return this.#hit(row, session, spoken.role, spoken.text);
  }

  #hit(
    row: Row,
    session: VisibleSession,
    role: SearchHit["role"],
    text: string,
  ): SearchHit | undefined {
    const found = findSnippet(foldWithOrigins(snippetText(text)), this.#terms);
    if (found === undefined) return undefined;
    const { id, title } = session;
    return {
      session: id,
      title,
      seq: seq.parse(row["seq"]),
      role,
      at: Number(row["at"]),
      ...found,
    };
  }

  /** Most of what does not match is told by its JSON, without taking that apart: letters stand in it as they are. */
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

/** The longest plain word of a term; no word at all is in every text. */
function longestWordOf({ pattern }: Term): string {
  const words = pattern.literals.flatMap((literal) => literal.match(/[a-z0-9]+/g) ?? []);
  return words.toSorted((a, b) => b.length - a.length)[0] ?? "";
}

/** A cursor names a place in the log, which is the same in an index that was made again. */
function cursorAt(place: number): string {
  return `p${place.toString(36)}`;
}

const cursorShape = z
  .string()
  .regex(/^p[0-9a-z]{1,11}$/)
  .transform((text) => Number.parseInt(text.slice(1), 36))
  .pipe(z.int().nonnegative());

/** Where the answer can be, or nothing when it is nowhere: a cursor that is none of ours points behind the end. */
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

/** Numbers and places grow together, so the place is found by halving. */
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
