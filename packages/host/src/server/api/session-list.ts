import {
  type ListCursor,
  type ListQuery,
  type SessionRow,
  type Shelf,
  type Store,
  viewSession,
} from "@holdfast/engine";
import { type OwnerId, sessionId } from "@holdfast/protocol";
import { z } from "zod";

import type { AnswerOf, Call } from "./contract.ts";
import { answer, problem, type ProblemReply, type Reply, type SerializedReply } from "./reply.ts";

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
