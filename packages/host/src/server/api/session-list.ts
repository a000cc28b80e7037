import { z } from "zod";
import {
  type ListCursor,
  type ListQuery,
  type SessionRow,
  type Shelf,
  type Store,
  viewSession,
  type Clock,
  type Reads,
  type SearchHit,
} from "@holdfast/engine";
import {
  type OwnerId,
  sessionId,
  encodeListSseFrame,
  type ListHint,
  type SessionId,
} from "@holdfast/protocol";
import {
  answer,
  type AnswerOf,
  type Call,
  mountCall,
  problem,
  type ProblemReply,
  type Reply,
  type SerializedReply,
} from "./endpoint.ts";
import type { Route } from "../http/routing.ts";
import type { ApiDeps } from "./deps.ts";

type ListSessionsQuery = Call<"listSessions">["query"];
type SessionPage = AnswerOf<"listSessions">;

const defaultPageSize = 50;

/** A page of the list; with `q`, of the sessions that match, newest match first. */
export function listSessions(
  store: Store,
  owner: OwnerId,
  query: ListSessionsQuery,
): Promise<Reply<SessionPage> | SerializedReply> {
  return query.q === undefined ? readList(store, owner, query) : findSessions(store, owner, query);
}

async function readList(
  store: Store,
  owner: OwnerId,
  query: ListSessionsQuery,
): Promise<ProblemReply | SerializedReply> {
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  if (after === null) return badCursor;
  const page = await store.reads.listed(owner, {
    ...parseFilter(query),
    limit: query.limit ?? defaultPageSize,
    ...(after && { after }),
  });
  const nextCursor = page.next && encodeCursor(page.next);
  return { kind: "written", json: wrapSessions(page.json, JSON.stringify(nextCursor)) };
}

function wrapSessions(sessions: Uint8Array, nextCursor: string): Uint8Array<ArrayBuffer> {
  return Buffer.concat([
    Buffer.from('{"sessions":'),
    sessions,
    Buffer.from(`,"nextCursor":${nextCursor}}`),
  ]);
}

async function findSessions(
  store: Store,
  owner: OwnerId,
  query: ListSessionsQuery,
): Promise<Reply<SessionPage>> {
  const { q = "", limit = defaultPageSize, cursor } = query;
  const found = await store.search.search(owner, { text: q, limit, ...(cursor && { cursor }) });
  if (found.status === "unavailable")
    return problem("store_unavailable", { detail: found.message });
  const ids = [...new Set(found.hits.map((hit) => hit.session))];
  const rows = await Promise.all(ids.map((id) => store.reads.session(owner, id)));
  const filter = parseFilter(query);
  const listed = rows.filter((row) => row !== null).filter((row) => matchesFilter(row, filter));
  return answer({ sessions: listed.map(viewSession), nextCursor: found.next });
}

type SessionFilter = Omit<ListQuery, "limit" | "after">;

function parseFilter({
  trashed,
  archived,
  pinned,
  project,
  tag,
  workspace,
}: ListSessionsQuery): SessionFilter {
  const shelf: Shelf = trashed === true ? "trash" : archived === true ? "archived" : "active";
  return {
    shelf,
    ...(pinned === true && { pinned }),
    ...(project !== undefined && { project }),
    ...(tag !== undefined && { tag }),
    ...(workspace !== undefined && { workspace }),
  };
}

function matchesFilter(row: SessionRow, filter: SessionFilter): boolean {
  const { shelf, pinned, project, tag, workspace } = filter;
  const rowShelf: Shelf = row.trashedAt !== null ? "trash" : row.archived ? "archived" : "active";
  return (
    rowShelf === shelf &&
    (pinned === undefined || row.pinned) &&
    (project === undefined || row.project === project) &&
    (workspace === undefined || row.workspace === workspace) &&
    (tag === undefined || row.tags.includes(tag))
  );
}

const cursorSchema = z.tuple([z.int().nonnegative(), sessionId]);

const badCursor = problem("invalid_request", {
  errors: [{ path: "cursor", message: "expected a cursor that the list has given" }],
});

/** Opaque, so that clients do not depend on its content. */
function encodeCursor({ sortAt, id }: ListCursor): string {
  return Buffer.from(JSON.stringify([sortAt, id])).toString("base64url");
}

function decodeCursor(text: string): ListCursor | null {
  try {
    const [sortAt, id] = cursorSchema.parse(JSON.parse(Buffer.from(text, "base64url").toString()));
    return { sortAt, id };
  } catch {
    return null;
  }
}

const defaultHitLimit = 20;

export function searchRoutes(deps: ApiDeps): Route[] {
  const { search } = deps.log.store;
  return [
    mountCall(deps, "search", async ({ owner, query: { q, limit = defaultHitLimit, cursor } }) => {
      const found = await search.search(owner, { text: q, limit, ...(cursor && { cursor }) });
      if (found.status === "unavailable")
        return problem("store_unavailable", { detail: found.message });
      return answer({
        hits: found.hits.map(viewHit),
        nextCursor: found.next,
        ...(found.indexing && { indexing: true }),
      });
    }),
  ];
}

export interface ListHints {
  /** Sends frames about new, changed or removed rows of the owner's list until the returned function is called. */
  watch(owner: OwnerId, listener: (frames: string) => void): () => void;
}

/** Changes show up at the top of the list, so only the newest rows are polled. */
const watchedRows = 50;
const pollMs = 1_000;

/**
 * Polls the top of an owner's list while somebody watches, once for all watchers. Polling the store sees the writes of
 * every process; a missed hint is harmless, because clients read the list itself.
 */
export function createListHints(reads: Reads, clock: Clock, closing: AbortSignal): ListHints {
  const pollers = new Map<OwnerId, SessionListPoller>();
  return {
    watch(owner, listener) {
      const poller = pollers.get(owner) ?? new SessionListPoller(reads, clock, owner, closing);
      pollers.set(owner, poller);
      poller.listeners.add(listener);
      return () => {
        poller.listeners.delete(listener);
        if (poller.listeners.size > 0) return;
        poller.stop();
        pollers.delete(owner);
      };
    },
  };
}

class SessionListPoller {
  readonly listeners = new Set<(frames: string) => void>();
  readonly #stopped = new AbortController();
  readonly #reads: Reads;
  readonly #owner: OwnerId;

  constructor(reads: Reads, clock: Clock, owner: OwnerId, closing: AbortSignal) {
    this.#reads = reads;
    this.#owner = owner;
    void this.#poll(clock, AbortSignal.any([closing, this.#stopped.signal]));
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #poll(clock: Clock, stopped: AbortSignal): Promise<void> {
    let seen: ReadonlyMap<SessionId, string> | undefined;
    while (!stopped.aborted) {
      // An unreadable store yields no hints; the session streams report the outage.
      const rows = await this.#read().catch(() => undefined);
      if (rows !== undefined) {
        if (seen !== undefined) this.#publish(await this.#changes(seen, rows));
        seen = new Map(rows.map((row) => [row.id, rowFingerprint(row)]));
      }
      await clock.sleep(pollMs, stopped);
    }
  }

  async #read(): Promise<readonly SessionRow[]> {
    return (await this.#reads.sessions(this.#owner, { limit: watchedRows })).sessions;
  }

  async #changes(
    seen: ReadonlyMap<SessionId, string>,
    rows: readonly SessionRow[],
  ): Promise<ListHint[]> {
    const currentIds = new Set(rows.map(({ id }) => id));
    const hints: ListHint[] = rows
      .filter((row) => seen.get(row.id) !== rowFingerprint(row))
      .map((row) => ({ sessionId: row.id, session: viewSession(row) }));
    const isFull = rows.length === watchedRows;
    for (const id of seen.keys()) {
      if (currentIds.has(id)) continue;
      const row = await this.#reads.session(this.#owner, id).catch(() => undefined);
      // A row pushed further down by others has not changed.
      const isPushed = isFull && row != null && rowFingerprint(row) === seen.get(id);
      if (row !== undefined && !isPushed)
        hints.push({ sessionId: id, session: row && viewSession(row) });
    }
    return hints;
  }

  /** Encoded once for all listeners. */
  #publish(hints: readonly ListHint[]): void {
    if (hints.length === 0) return;
    const frames = hints.map(encodeListSseFrame).join("");
    for (const listener of this.listeners) listener(frames);
  }
}

/** What the list shows of a session; streamed output changes none of it. */
function rowFingerprint(row: SessionRow): string {
  const { head: _, activityAt: __, ranges: ___, alternatives: ____, ...rest } = row;
  const { openDeltas: _____, ...shown } = rest;
  return JSON.stringify(shown);
}

function viewHit({ session, highlights, ...shown }: SearchHit) {
  const marks = highlights.map(([from, to]): [number, number] => [from, to]);
  return { ...shown, sessionId: session, marks };
}
