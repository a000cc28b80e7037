import {
  type ApprovalId,
  type BlobId,
  decodeEvent,
  type EventId,
  type KnownEvent,
  type MessageId,
  roleOf,
  type RunId,
  type Seq,
  type StoredEvent,
} from "@holdfast/protocol";

import type {
  ApprovalRow,
  InputRow,
  LeaseRow,
  OutboxRow,
  RunRow,
  SessionRow,
} from "../ports/rows.ts";
import type { Commit } from "../ports/commit.ts";
import { approvalNamedBy, mayWithdraw } from "./fold-approvals.ts";
import { inboundKeyOf } from "./fold-outbound.ts";
import { blobsIn } from "./fold-rows.ts";

/** What a store reads, under its lock, before a commit can be decided. */
export interface LoadedRows {
  readonly session: SessionRow | null;
  /** There was a session with this id and it was purged. Its id and its numbers are not given again. */
  readonly purged?: boolean;
  /** Every lease of the session that has not been released, expired or not. */
  readonly leases: readonly LeaseRow[];
  readonly runs: ReadonlyMap<RunId, RunRow>;
  /** The inputs that the commit names, by message and by client id. */
  readonly inputs: ReadonlyMap<MessageId, InputRow>;
  readonly inputsByClient: ReadonlyMap<string, InputRow>;
  /** Those of the commit's blobs that exist. */
  readonly blobs: ReadonlySet<BlobId>;
  /** Those that the commit names and, if it may close others, the open ones of its session. */
  readonly approvals: ReadonlyMap<ApprovalId, ApprovalRow>;
  /** Who answers for what came in under the keys that the commit names, in whichever session. */
  readonly inbound: ReadonlyMap<string, Pick<OutboxRow, "session" | "delivery">>;
}

/** Which rows those are. */
export interface CommitNeeds {
  readonly runs: readonly RunId[];
  readonly messages: readonly MessageId[];
  readonly clientIds: readonly string[];
  readonly blobs: readonly BlobId[];
  readonly approvals: readonly ApprovalId[];
  readonly openApprovals: boolean;
  readonly inbound: readonly string[];
  /** By which a commit that was made before is found. */
  readonly firstEvent: EventId | undefined;
}

export function needsOf(commit: Commit): CommitNeeds {
  const runs = new Set<RunId>();
  const messages = new Set<MessageId>();
  const clientIds = new Set<string>();
  const blobs = new Set<BlobId>();
  const approvals = new Set<ApprovalId>();
  const inbound = new Set<string>();
  for (const event of commit.events) {
    if (roleOf(event) === "delta") continue;
    if (event.runId !== undefined) runs.add(event.runId);
    const known = knownEvent({ ...event, seq: 0 as Seq, at: 0 });
    if (known === undefined) continue;
    for (const blob of blobsIn(known)) blobs.add(blob);
    if (known.type === "input.accepted") {
      clientIds.add(known.data.clientId);
      runs.add(known.data.runId);
    }
    const messageId = inputNamedBy(known);
    if (messageId !== undefined) messages.add(messageId);
    const approvalId = approvalNamedBy(known);
    if (approvalId !== undefined) approvals.add(approvalId);
    const came = inboundKeyOf(known);
    if (came !== undefined) inbound.add(came.key);
  }
  return {
    runs: [...runs],
    messages: [...messages],
    clientIds: [...clientIds],
    blobs: [...blobs],
    approvals: [...approvals],
    openApprovals: commit.events.some(mayWithdraw),
    inbound: [...inbound],
    firstEvent: commit.events[0]?.id,
  };
}

export function inputNamedBy(event: KnownEvent): MessageId | undefined {
  switch (event.type) {
    case "input.accepted":
    case "input.changed":
    case "input.removed":
    case "message.user":
      return event.data.messageId;
    default:
      return undefined;
  }
}

function knownEvent(event: StoredEvent): KnownEvent | undefined {
  const decoded = decodeEvent(event);
  return decoded.kind === "known" ? decoded.event : undefined;
}
