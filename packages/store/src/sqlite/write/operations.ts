import type {
  BlobRow,
  Commit,
  CommitResult,
  Derived,
  LeaseRef,
  LeaseRequest,
  LeaseResult,
  NewObject,
  PurgeResult,
  PutObject,
  PutBlobResult,
  RegisterChange,
  RegisterResult,
  RenewResult,
  RequestRow,
} from "@holdfast/engine";
import type { BlobId, OwnerId, SessionId } from "@holdfast/protocol";
import type { Connection } from "../connection.ts";
import {
  beginObject,
  findGarbage,
  finishObject,
  forgetObjects,
  takeBackBlob,
} from "./blob-objects.ts";
import { purgeSession } from "./purge.ts";
import type { SessionCache, CachedSession } from "./group-writer.ts";
import { writeCommit } from "./commit.ts";
import { replaceDerived } from "./repair.ts";
import { answerRetentionMs, keptBlobPrefix, keptByNobody } from "@holdfast/engine/ports";
import { decodeRequest, requestByKey, decodeRegister, registerByKey, leaseTable } from "../rows.ts";
import { decideLease } from "@holdfast/engine/log";

/** Every write, with its result. Each may be sent again when its result is unknown. */
export interface Operations {
  commit: { request: Commit; result: CommitResult };
  acquire: { request: LeaseRequest; result: LeaseResult };
  renew: { request: { leases: readonly LeaseRef[]; ttlMs: number }; result: RenewResult };
  release: { request: LeaseRef; result: { status: "released" | "not_held" } };
  putBlob: { request: NewBlob; result: PutBlobResult };
  beginObject: { request: NewObject; result: { status: "begun" | "known" } };
  finishObject: { request: PutObject; result: { status: "stored" | "lost" } };
  takeBackBlob: {
    request: { owner: OwnerId; id: BlobId; bytes: Uint8Array };
    result: { status: "taken" };
  };
  findGarbage: { request: { limit: number }; result: { status: "found"; keys: string[] } };
  forgetObjects: { request: { keys: readonly string[] }; result: { status: "forgotten" } };
  keepRequest: {
    request: Omit<RequestRow, "at">;
    result: { status: "kept"; row: RequestRow };
  };
  putRegister: {
    request: RegisterChange;
    result: Exclude<RegisterResult, { status: "failed" }>;
  };
  purge: { request: { owner: OwnerId; session: SessionId }; result: PurgeResult };
  prune: { request: { limit: number }; result: { status: "pruned"; rows: number } };
  replaceDerived: { request: Derived; result: { status: "replaced" | "moved" } };
  replaceBlobRefs: {
    request: { owner: BlobRow["owner"]; refs: ReadonlyMap<BlobId, number> };
    result: { status: "replaced" };
  };
}

export type Operation = {
  [Name in keyof Operations]: {
    readonly name: Name;
    readonly request: Operations[Name]["request"];
  };
}[keyof Operations];
export type OperationResult = Operations[keyof Operations]["result"];

/** Runs one operation inside the group's transaction. An operation that is refused has written nothing. */
export function runOperation(
  connection: Connection,
  cache: SessionCache,
  { name, request }: Operation,
  now: number,
): OperationResult {
  switch (name) {
    case "commit":
      return writeCommit(connection, cache, request, now);
    case "acquire":
      return acquireLease(connection, cache, request, now);
    case "renew":
      return renewLeases(connection, cache, request.leases, now + request.ttlMs);
    case "release":
      return releaseLease(connection, cache, request);
    case "putBlob":
      return storeBlob(connection, request, now);
    case "beginObject":
      return beginObject(connection, request, now);
    case "finishObject":
      return finishObject(connection, request, now);
    case "takeBackBlob":
      return takeBackBlob(connection, request, now);
    case "findGarbage":
      return findGarbage(connection, request.limit, now);
    case "forgetObjects":
      return forgetObjects(connection, request.keys);
    case "keepRequest":
      return keepRequest(connection, request, now);
    case "putRegister":
      return putRegister(connection, request, now);
    case "purge":
      return purgeSession(connection, cache, request, now);
    case "prune":
      return { status: "pruned", rows: pruneRows(connection, request.limit, now) };
    case "replaceDerived":
      return { status: replaceDerived(connection, cache, request) };
    case "replaceBlobRefs":
      writeBlobRefs(connection, request.owner, request.refs);
      return { status: "replaced" };
  }
}

/** Overwrites an expired answer under the same key. */
const insertRequest = `
  INSERT INTO requests (owner_id, key, hash, session_key, answer, at)
  SELECT ?1, ?2, ?3, (SELECT key FROM sessions WHERE id = ?4), ?5, ?6
   WHERE ?4 IS NULL OR EXISTS (SELECT 1 FROM sessions WHERE id = ?4)
  ON CONFLICT (owner_id, key) DO UPDATE
    SET hash = excluded.hash, session_key = excluded.session_key, answer = excluded.answer, at = excluded.at
  WHERE requests.at <= excluded.at - ${answerRetentionMs}`;

function keepRequest(
  connection: Connection,
  request: Omit<RequestRow, "at">,
  at: number,
): { status: "kept"; row: RequestRow } {
  const { owner, key, hash, session, answer } = request;
  connection.sql(insertRequest).run(owner, key, hash, session, answer, at);
  const row = connection.sql(requestByKey).get(owner, key, at - answerRetentionMs);
  return { status: "kept", row: row === undefined ? { ...request, at } : decodeRequest(row) };
}

function deleteExpiredRequests(connection: Connection, limit: number, now: number): number {
  const { changes } = connection
    .sql(
      `DELETE FROM requests WHERE (owner_id, key) IN (
         SELECT owner_id, key FROM requests WHERE at <= ? ORDER BY at LIMIT ? + 0)`,
    )
    .run(now - answerRetentionMs, limit);
  return Number(changes);
}

const upsertRegister = `
  INSERT INTO register (owner_id, key, value, revision, at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (owner_id, key) DO UPDATE
    SET value = excluded.value, revision = excluded.revision, at = excluded.at`;

/** Compare-and-swap: only a caller that has seen the last revision can write the next. */
function putRegister(
  connection: Connection,
  { owner, key, value, expect }: RegisterChange,
  at: number,
): Exclude<RegisterResult, { status: "failed" }> {
  const stored = connection.sql(registerByKey).get(owner, key);
  const row = stored === undefined ? null : decodeRegister(stored);
  if ((row?.revision ?? 0) !== expect) return { status: "moved", row };
  const revision = expect + 1;
  connection.sql(upsertRegister).run(owner, key, value, revision, at);
  return { status: "put", row: { owner, key, value, revision, at } };
}

export interface NewBlob {
  readonly owner: OwnerId;
  readonly id: BlobId;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** An unreferenced blob may be deleted once it is this old: long enough for the message that will refer to it. */
const blobGraceMs = 24 * 60 * 60 * 1000;

/** Keeps bytes that exist already, but restarts their grace period: someone is about to refer to them. */
function storeBlob(
  connection: Connection,
  blob: NewBlob,
  now: number,
): { status: "stored"; id: BlobId; size: number } {
  connection
    .sql(
      `INSERT INTO blobs (owner_id, id, media_type, size, refs, created_at, bytes) VALUES (?, ?, ?, ?, 0, ?, ?)
       ON CONFLICT (owner_id, id) DO UPDATE SET created_at = excluded.created_at`,
    )
    .run(blob.owner, blob.id, blob.mediaType, blob.bytes.byteLength, now, blob.bytes);
  return { status: "stored", id: blob.id, size: blob.bytes.byteLength };
}

function deleteUnreferencedBlobs(connection: Connection, limit: number, now: number): number {
  const { changes } = connection
    .sql(
      `DELETE FROM blobs WHERE key IN (
         SELECT b.key FROM blobs b
          WHERE b.refs = 0 AND b.created_at <= ?
            AND NOT EXISTS (SELECT 1 FROM register r
                             WHERE r.owner_id = b.owner_id AND r.key = ? || b.id AND r.value <> ?)
          ORDER BY b.created_at LIMIT ? + 0)`,
    )
    .run(now - blobGraceMs, keptBlobPrefix, keptByNobody, limit);
  return Number(changes);
}

function writeBlobRefs(
  connection: Connection,
  owner: BlobRow["owner"],
  refs: ReadonlyMap<BlobId, number>,
): void {
  connection.sql("UPDATE blobs SET refs = 0 WHERE owner_id = ?").run(owner);
  const set = connection.sql("UPDATE blobs SET refs = ? WHERE owner_id = ? AND id = ?");
  for (const [id, count] of refs) set.run(count, owner, id);
}

const settledChainSql = `
  WITH RECURSIVE chain (pos, prev) AS (
    SELECT pos, prev FROM deltas WHERE pos = ?
    UNION ALL
    SELECT d.pos, d.prev FROM chain JOIN deltas d ON d.pos = chain.prev
    LIMIT ? + 0
  )
  SELECT pos, prev FROM chain`;

/**
 * Deletes settled deltas from the end of their chains, then unreferenced blobs and expired answers: at most `limit`
 * rows.
 */
function pruneRows(connection: Connection, limit: number, now: number): number {
  let left = limit;
  while (left > 0) {
    const chain = connection
      .sql("SELECT last_delta, session_key FROM settled_chains LIMIT 1")
      .get();
    if (chain === undefined) break;
    left -= pruneChain(connection, Number(chain["last_delta"]), Number(chain["session_key"]), left);
  }
  if (left > 0) left -= deleteUnreferencedBlobs(connection, left, now);
  if (left > 0) left -= deleteExpiredRequests(connection, left, now);
  return limit - left;
}

function pruneChain(connection: Connection, last: number, session: number, limit: number): number {
  const rows = connection.sql(settledChainSql).all(last, limit);
  const deleteDelta = connection.sql("DELETE FROM deltas WHERE pos = ?");
  for (const row of rows) deleteDelta.run(Number(row["pos"]));
  const rest = rows.at(-1)?.["prev"] ?? null;
  connection.sql("DELETE FROM settled_chains WHERE last_delta = ?").run(last);
  if (rest !== null)
    connection.sql("INSERT INTO settled_chains VALUES (?, ?)").run(Number(rest), session);
  return rows.length;
}

function acquireLease(
  connection: Connection,
  cache: SessionCache,
  request: LeaseRequest,
  now: number,
): LeaseResult {
  const session = cache.get(connection, request.session);
  if (session === null || session.row.trashedAt !== null)
    return { status: "refused", code: "session_not_found" };
  const current = session.leases.find((lease) => lease.kind === request.kind) ?? null;
  const lastFence = connection
    .sql("SELECT fence FROM fences WHERE session_key = ? AND kind = ?")
    .get(session.key, request.kind);
  const decision = decideLease(current, Number(lastFence?.["fence"] ?? 0), request, now);
  if (decision.status === "held") return decision;
  const { lease } = decision;
  leaseTable.put(connection, lease, session.key);
  if (lease.fence !== current?.fence) {
    connection
      .sql("INSERT INTO fences VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET fence = excluded.fence")
      .run(session.key, lease.kind, lease.fence);
  }
  cache.set({ ...session, leases: [...otherLeases(session, request), lease] });
  return decision;
}

/** Also renews an expired lease that nobody took over: its fence is still the greatest. */
function renewLeases(
  connection: Connection,
  cache: SessionCache,
  leases: readonly LeaseRef[],
  expiresAt: number,
): Extract<RenewResult, { status: "renewed" }> {
  const lost: LeaseRef[] = [];
  for (const ref of leases) {
    const session = cache.get(connection, ref.session);
    const lease = session?.leases.find(
      ({ kind, fence }) => kind === ref.kind && fence === ref.fence,
    );
    if (session === null || lease === undefined) {
      lost.push({ kind: ref.kind, session: ref.session, fence: ref.fence });
      continue;
    }
    const renewed = { ...lease, expiresAt: Math.max(lease.expiresAt, expiresAt) };
    leaseTable.put(connection, renewed, session.key);
    cache.set({ ...session, leases: [...otherLeases(session, ref), renewed] });
  }
  return { status: "renewed", lost };
}

function releaseLease(
  connection: Connection,
  cache: SessionCache,
  ref: LeaseRef,
): { status: "released" | "not_held" } {
  const session = cache.get(connection, ref.session);
  const held = session?.leases.some(
    (lease) => lease.kind === ref.kind && lease.fence === ref.fence,
  );
  if (session === null || held !== true) return { status: "not_held" };
  connection
    .sql("DELETE FROM leases WHERE session_key = ? AND kind = ?")
    .run(session.key, ref.kind);
  cache.set({ ...session, leases: otherLeases(session, ref) });
  return { status: "released" };
}

function otherLeases(session: CachedSession, ref: Pick<LeaseRef, "kind">) {
  return session.leases.filter((lease) => lease.kind !== ref.kind);
}
