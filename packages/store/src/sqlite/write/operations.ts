import type {
  BlobRow,
  Commit,
  CommitResult,
  Derived,
  LeaseRef,
  LeaseRequest,
  LeaseResult,
  PurgeResult,
  PutBlobResult,
  RegisterChange,
  RegisterResult,
  RenewResult,
  RequestRow,
} from "@holdfast/engine";
import type { BlobId, OwnerId, SessionId } from "@holdfast/protocol";

import type { Connection } from "../connection.ts";
import { keepRequest } from "./keep-request.ts";
import { pruneRows } from "./prune.ts";
import { purgeSession } from "./purge.ts";
import { putRegister } from "./put-register.ts";
import type { SessionCache } from "./session-cache.ts";
import { type NewBlob, storeBlob, writeBlobRefs } from "./write-blob.ts";
import { writeCommit } from "./commit.ts";
import { replaceDerived } from "./repair.ts";
import { acquireLease, releaseLease, renewLeases } from "./leases.ts";

/** Everything that can be written, with what it answers. Each may be sent again after an unknown end. */
export interface Operations {
  commit: { request: Commit; result: CommitResult };
  acquire: { request: LeaseRequest; result: LeaseResult };
  renew: { request: { leases: readonly LeaseRef[]; ttlMs: number }; result: RenewResult };
  release: { request: LeaseRef; result: { status: "released" | "not_held" } };
  putBlob: { request: NewBlob; result: PutBlobResult };
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

/** Carries one operation out inside the group's transaction. One that answers a refusal has written nothing. */
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
