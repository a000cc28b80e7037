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
} from "@holdfast/engine";
import {
  type OwnerId,
  sessionId,
  encodeListSseFrame,
  type ListHint,
  type SessionId,
} from "@holdfast/protocol";
import { type AnswerOf, type Call, mountCall } from "./endpoint.ts";
import {
  answer,
  problem,
  type ProblemReply,
  type Reply,
  type SerializedReply,
  viewHit,
} from "./reply.ts";
import type { Route } from "../http/routing.ts";
import type { ApiDeps } from "./deps.ts";

type ListSessionsQuery = Call<"listSessions">["query"];
type SessionPage = AnswerOf<"listSessions">;

const defaultPageSize = 50;

/** A page of the list; with `q`, of the sessions in which the words were found, newest match first. */
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
}: ListSessionsQuery): SessionFilter {
  const shelf: Shelf = trashed === true ? "trash" : archived === true ? "archived" : "active";
  return {
    shelf,
    ...(pinned === true && { pinned }),
    ...(project !== undefined && { project }),
    ...(tag !== undefined && { tag }),
  };
}

function matchesFilter(row: SessionRow, { shelf, pinned, project, tag }: SessionFilter): boolean {
  const own: Shelf = row.trashedAt !== null ? "trash" : row.archived ? "archived" : "active";
  return (
    own === shelf &&
    (pinned === undefined || row.pinned) &&
    (project === undefined || row.project === project) &&
    (tag === undefined || row.tags.includes(tag))
  );
}

const cursorSchema = z.tuple([z.int().nonnegative(), sessionId]);

const badCursor = problem("invalid_request", {
  errors: [{ path: "cursor", message: "expected a cursor that the list has given" }],
});

/** Opaque, so that nobody depends on what it is made of. */
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

export function searchRoutes(parts: ApiDeps): Route[] {
  const { search } = parts.log.store;
  return [
    mountCall(parts, "search", async ({ owner, query: { q, limit = defaultHitLimit, cursor } }) => {
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
  /** Hands over frames that tell of rows of the owner's list that are new, changed or gone, until it is let go. */
  watch(owner: OwnerId, listener: (frames: string) => void): () => void;
}

/** So many of the newest are looked at: what changes is at the top of the list, where it is seen. */
const watchedRows = 50;
const pollMs = 1_000;

/**
 * Looks at the top of an owner's list while somebody watches, once for all of them. The store is the truth, whichever process
 * wrote to it; a hint that is missed costs nothing, since who needs the list reads it.
 */
export function createListHints(reads: Reads, clock: Clock, closing: AbortSignal): ListHints {
  const looks = new Map<OwnerId, SessionListPoller>();
  return {
    watch(owner, listener) {
      const look = looks.get(owner) ?? new SessionListPoller(reads, clock, owner, closing);
      looks.set(owner, look);
      look.listeners.add(listener);
      return () => {
        look.listeners.delete(listener);
        if (look.listeners.size > 0) return;
        look.stop();
        looks.delete(owner);
      };
    },
  };
}

class SessionListPoller {
  readonly listeners = new Set<(frames: string) => void>();
  readonly #over = new AbortController();
  readonly #reads: Reads;
  readonly #owner: OwnerId;

  constructor(reads: Reads, clock: Clock, owner: OwnerId, closing: AbortSignal) {
    this.#reads = reads;
    this.#owner = owner;
    void this.#go(clock, AbortSignal.any([closing, this.#over.signal]));
  }

  stop(): void {
    this.#over.abort();
  }

  async #go(clock: Clock, over: AbortSignal): Promise<void> {
    let seen: ReadonlyMap<SessionId, string> | undefined;
    while (!over.aborted) {
      // A store that cannot be read has nothing to hint at; those who follow sessions are told of it.
      const rows = await this.#read().catch(() => undefined);
      if (rows !== undefined) {
        if (seen !== undefined) this.#say(await this.#changes(seen, rows));
        seen = new Map(rows.map((row) => [row.id, rowFingerprint(row)]));
      }
      await clock.sleep(pollMs, over);
    }
  }

  async #read(): Promise<readonly SessionRow[]> {
    return (await this.#reads.sessions(this.#owner, { limit: watchedRows })).sessions;
  }

  async #changes(
    seen: ReadonlyMap<SessionId, string>,
    rows: readonly SessionRow[],
  ): Promise<ListHint[]> {
    const here = new Set(rows.map(({ id }) => id));
    const hints: ListHint[] = rows
      .filter((row) => seen.get(row.id) !== rowFingerprint(row))
      .map((row) => ({ sessionId: row.id, session: viewSession(row) }));
    const isFull = rows.length === watchedRows;
    for (const id of seen.keys()) {
      if (here.has(id)) continue;
      const row = await this.#reads.session(this.#owner, id).catch(() => undefined);
      // One that others have pushed further down has not changed.
      const isPushed = isFull && row != null && rowFingerprint(row) === seen.get(id);
      if (row !== undefined && !isPushed)
        hints.push({ sessionId: id, session: row && viewSession(row) });
    }
    return hints;
  }

  /** Written once, however many listen. */
  #say(hints: readonly ListHint[]): void {
    if (hints.length === 0) return;
    const frames = hints.map(encodeListSseFrame).join("");
    for (const listener of this.listeners) listener(frames);
  }
}

/** What the list shows of a session. Output that streams changes none of it. */
function rowFingerprint(row: SessionRow): string {
  const { head: _, activityAt: __, openDeltas: ___, ranges: ____, ...shown } = row;
  return JSON.stringify(shown);
}
