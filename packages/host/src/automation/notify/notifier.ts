import type { Reads } from "@holdfast/engine";
import { decodeEvent, type OwnerId, seq } from "@holdfast/protocol";

import type { Redact } from "../../ops/secrets/redact.ts";
import { type Attention, instructionFor } from "./attention.ts";

export interface NoticeMessageDeps {
  readonly reads: Reads;
  readonly owner: OwnerId;
  /** Where people find the page; `null` when nobody can. */
  readonly address: string | null;
  readonly details: "on" | "off";
  readonly redact: Redact;
}

const maxDetailsLength = 2_000;
const nearbyEvents = 20;

/** `null`: nobody is needed any more. */
export async function encodeNotice(
  parts: NoticeMessageDeps,
  item: Attention,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const { reads, owner, address, redact } = parts;
  const { id, type, session: sessionId, at, runId, approvalId, cause } = item;
  const session = await reads.session(owner, sessionId);
  if (session === null || session.trashedAt !== null || !(await isStillOpen(parts, item)))
    return null;
  const tellsAll = parts.details === "on";
  // A title that nobody chose is made of what was said.
  const title = tellsAll || session.titleSource === "chosen" ? session.title : null;
  const details = tellsAll ? await detailsOf(parts, item) : undefined;
  const place = type === "memory_stuck" ? "?settings=memory" : `?session=${sessionId}`;
  const message = {
    id,
    type,
    sessionId,
    title: title === null ? null : redact(title),
    at,
    do: { words: instructionFor(type), link: address === null ? null : `${address}${place}` },
    ...(runId !== undefined && { runId }),
    ...(approvalId !== undefined && { approvalId }),
    ...(cause !== undefined && { cause }),
    ...(details !== undefined && { details: redact(details).slice(0, maxDetailsLength) }),
  };
  return new TextEncoder().encode(JSON.stringify(message));
}

async function isStillOpen({ reads, owner }: NoticeMessageDeps, item: Attention): Promise<boolean> {
  if (item.approvalId === undefined) return true;
  const { approvals } = await reads.approvals(owner, { session: item.session, limit: 100 });
  return approvals.some(({ runId, askedAt }) => runId === item.runId && askedAt === item.at);
}

async function detailsOf(
  { reads, owner }: NoticeMessageDeps,
  { session, approvalId, runId, seq: end }: Attention,
): Promise<string | undefined> {
  if (approvalId !== undefined) {
    const approval = await reads.approval(owner, approvalId);
    return approval?.details.shown ?? (approval === null ? undefined : approval.tool);
  }
  if (end === undefined) return undefined;
  const after = seq.parse(Math.max(0, end - nearbyEvents));
  const page = await reads.events(owner, session, { after, upTo: end, limit: nearbyEvents });
  for (const stored of page?.events.toReversed() ?? []) {
    const { kind, event } = decodeEvent(stored);
    if (kind === "known" && event.type === "notice.added" && event.runId === runId)
      return event.data.text;
  }
  return undefined;
}
