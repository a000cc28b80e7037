import type { Search, SearchHit, SearchQuery, SearchRole } from "@holdfast/engine";
import {
  alternativeWith,
  decodeEvent,
  type HiddenAlternative,
  hiddenAlternatives,
  type OwnerId,
  plainText,
  type SeqRange,
  type StoredEvent,
  textOf,
} from "@holdfast/protocol";

import { type ReferenceData, readableRows, type SessionData } from "./data.ts";

interface Document extends Pick<
  SearchHit,
  "session" | "title" | "seq" | "role" | "at" | "alternative"
> {
  readonly text: string;
}

/** Reads everything for every search: there is no index that could be behind. */
export function createSearch(data: ReferenceData): Search {
  return {
    async search(owner, query) {
      const terms = parseTerms(query.text);
      const hits = documentsOf(data, owner, query)
        .filter((document) => matchesQuery(document, query))
        .toSorted(newestFirst)
        .map((document) => matchAll(document, terms))
        .filter((hit) => hit !== undefined);
      const start = Number(query.cursor ?? 0);
      const end = start + query.limit;
      return {
        status: "ok",
        hits: hits.slice(start, end),
        next: end < hits.length ? String(end) : null,
      };
    },
    async settled() {},
    async rebuild() {},
  };
}

/** Each entry once: in the session that wrote it if it still shows it, or else in the newest branch that does. */
function documentsOf(
  data: ReferenceData,
  owner: OwnerId,
  { session: only, onlyInView }: SearchQuery,
): Document[] {
  const sessions = [...data.sessions.values()]
    .filter(({ row }) => row.owner === owner && row.trashedAt === null)
    .filter(({ row }) => only === undefined || row.id === only);
  const shown = new Map<string, Document>();
  for (const session of sessions) addDocuments(data, session, session.row.ranges, shown);
  const hidden = new Map<string, Document>();
  if (onlyInView !== true)
    for (const session of sessions) {
      const alternatives = hiddenOf(data, session);
      for (const { ranges } of alternatives)
        addDocuments(data, session, ranges, hidden, alternatives);
    }
  return [...sessions.flatMap(titleOf), ...new Map([...hidden, ...shown]).values()];
}

function addDocuments(
  data: ReferenceData,
  session: SessionData,
  ranges: readonly SeqRange[],
  documents: Map<string, Document>,
  hidden?: readonly HiddenAlternative[],
): void {
  const { id } = session.row;
  for (const { log = id, from, to } of ranges) {
    for (const event of readableRows(data, log)) {
      if (!isWithin({ from, to }, event.seq)) continue;
      const key = `${log} ${event.seq}`;
      if (documents.get(key)?.session === log) continue;
      const contains = (view: readonly SeqRange[]): boolean =>
        view.some((range) => (range.log ?? id) === log && isWithin(range, event.seq));
      const alternative = hidden && alternativeWith(hidden, contains, event.seq)?.messageId;
      if (hidden !== undefined && alternative === undefined) continue;
      for (const document of documentOf(session, event))
        documents.set(key, { ...document, ...(alternative !== undefined && { alternative }) });
    }
  }
}

function isWithin({ from, to }: SeqRange, seq: number): boolean {
  return seq >= from && seq <= (to ?? Infinity);
}

function hiddenOf(data: ReferenceData, { row }: SessionData): readonly HiddenAlternative[] {
  return hiddenAlternatives(row, (left) => {
    const event = readableRows(data, row.id).find(({ seq }) => seq === left);
    const decoded = event && decodeEvent(event);
    if (decoded?.kind !== "known") return undefined;
    const { type, data: changed } = decoded.event;
    const isView = type === "history.cut" || type === "history.restored";
    return isView ? changed.before?.ranges : undefined;
  });
}

function titleOf({ row }: SessionData): Document[] {
  if (row.title === null) return [];
  const { id: session, title, head: seq, sortAt: at } = row;
  return [{ session, title, seq, role: "title", at, text: title }];
}

function documentOf({ row }: SessionData, event: StoredEvent): Document[] {
  const decoded = decodeEvent(event);
  const said = decoded.kind === "known" ? searchableTextOf(decoded.event) : undefined;
  if (said === undefined) return [];
  const { role, text } = said;
  return [{ session: row.id, title: row.title, seq: event.seq, role, at: event.at, text }];
}

function searchableTextOf(
  event: Extract<ReturnType<typeof decodeEvent>, { kind: "known" }>["event"],
): { role: SearchRole; text: string } | undefined {
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

function matchesQuery(document: Document, { role, since, until }: SearchQuery): boolean {
  return (
    (role === undefined || document.role === role) &&
    document.at >= (since ?? 0) &&
    document.at <= (until ?? Infinity)
  );
}

function newestFirst(a: Document, b: Document): number {
  return b.at - a.at || b.seq - a.seq || (a.session < b.session ? 1 : -1);
}

/** Each term is a pattern that must match somewhere. */
function parseTerms(text: string): RegExp[] {
  const terms = plainText(text).matchAll(/"([^"]*)"?|(\S+)/gu);
  return [...terms].flatMap(([, phrase, word]) => {
    if (phrase !== undefined) return phrase.trim() === "" ? [] : [phrasePattern(phrase)];
    if (word === undefined) return [];
    const prefix = /^(.+)\*$/u.exec(word)?.[1];
    return [pattern(prefix === undefined ? escaped(word) : `${wordStart}${escaped(prefix)}`)];
  });
}

const wordStart = String.raw`(?<![\p{L}\p{N}])`;
const wordEnd = String.raw`(?![\p{L}\p{N}])`;

function phrasePattern(phrase: string): RegExp {
  const words = phrase.trim().split(/\s+/u).map(escaped);
  return pattern(`${wordStart}${words.join(String.raw`\s+`)}${wordEnd}`);
}

function pattern(source: string): RegExp {
  return new RegExp(source, "giu");
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`);
}

const snippetLength = 160;

function matchAll({ text, ...rest }: Document, terms: readonly RegExp[]): SearchHit | undefined {
  const plain = plainText(text);
  const found = terms.map((term) => [...plain.matchAll(term)]);
  if (found.length === 0 || found.some((matches) => matches.length === 0)) return undefined;
  const matches = found.flat().toSorted((a, b) => a.index - b.index);
  const start = Math.max(0, (matches[0]?.index ?? 0) - snippetLength / 4);
  const snippet = plain.slice(start, start + snippetLength).toWellFormed();
  const highlights = matches
    .map((match): [number, number] => [match.index - start, match.index - start + match[0].length])
    .filter(([, to]) => to <= snippet.length);
  return { ...rest, snippet, highlights };
}
