import { columnText, type KnownEvent } from "@holdfast/protocol";

import type { OutboxRow, SessionRow } from "../ports/rows.ts";
import type { Refused } from "../ports/commit.ts";
import type { LoadedRows } from "./needs.ts";
import { refuse } from "./check-commit.ts";

/**
 * The chunk that an event makes or changes. P11: a message that came from a platform is accepted together with the chunk that
 * will carry its answer, so that no answer can be settled without its delivery being owed.
 */
export function outboxRowOf(event: KnownEvent, session: SessionRow): OutboxRow | undefined {
  if (event.type === "input.accepted") return pendingChunkFor(event, session);
  if (event.type !== "outbox.changed") return undefined;
  const { approvalId, inbound, replyTo, text, platformId, retryAt, code, message } = event.data;
  const { delivery, chunk, kind, lane, begun, state, from, to, attempts } = event.data;
  return {
    session: session.id,
    delivery,
    chunk,
    kind,
    lane,
    runId: event.runId ?? null,
    approvalId: approvalId ?? null,
    inbound: inbound ?? null,
    replyTo: replyTo ?? null,
    text: text === undefined ? null : columnText(text),
    begun,
    state,
    from,
    to,
    platformId: platformId ?? null,
    attempts,
    retryAt: retryAt ?? null,
    code: code === undefined ? null : columnText(code),
    message: message === undefined ? null : columnText(message),
    at: event.at,
  };
}

function pendingChunkFor(
  event: Extract<KnownEvent, { type: "input.accepted" }>,
  session: SessionRow,
): OutboxRow | undefined {
  const { inbound, lane, runId } = event.data;
  if (inbound === undefined || lane === undefined) return undefined;
  return {
    session: session.id,
    delivery: inbound.delivery,
    chunk: 0,
    kind: "answer",
    lane,
    runId,
    approvalId: null,
    inbound: inbound.key,
    replyTo: inbound.replyTo ?? null,
    text: null,
    begun: event.seq,
    state: "pending",
    from: 0,
    to: 0,
    platformId: null,
    attempts: 0,
    retryAt: null,
    code: null,
    message: null,
    at: event.at,
  };
}

/** The key of what came in that an event answers for, and the delivery that does. */
export function inboundKeyOf(
  event: KnownEvent,
): (Pick<OutboxRow, "delivery"> & { readonly key: string }) | undefined {
  if (event.type === "outbox.changed") {
    const { inbound: key, delivery } = event.data;
    return key === undefined ? undefined : { key, delivery };
  }
  if (event.type !== "input.accepted" || event.data.inbound === undefined) return undefined;
  const { key, delivery } = event.data.inbound;
  return { key, delivery };
}

export function checkOutbox(
  event: KnownEvent,
  session: SessionRow,
  inbound: LoadedRows["inbound"],
  before: Iterable<OutboxRow>,
): Refused | undefined {
  if (event.type === "input.accepted" && event.data.inbound && event.data.lane === undefined)
    return refuse("invalid_event", "What came from a platform names its lane.");
  if (event.type === "outbox.changed" && event.data.from > event.data.to)
    return refuse("invalid_event", "A chunk ends behind its beginning.");
  const named = inboundKeyOf(event);
  if (named === undefined) return undefined;
  const { key, delivery } = named;
  const stored = inbound.get(key);
  const isOther =
    stored !== undefined && (stored.session !== session.id || stored.delivery !== delivery);
  const isTwice = Iterator.from(before).some(
    (row) => row.inbound === key && row.delivery !== delivery,
  );
  // P11: redelivered, or fetched by two pollers, and the lane has moved on to another session since.
  return isOther || isTwice ? refuse("inbound_taken", "This was taken before.") : undefined;
}

/** What names a chunk. */
export function outboxKey({ session, delivery, chunk }: OutboxRow): string {
  return `${session} ${delivery} ${chunk}`;
}

/** Only a delivery's beginning names what it answers; what is said of it later leaves that as it is. */
export function mergeChunk(chunks: Map<string, OutboxRow>, row: OutboxRow): void {
  const key = outboxKey(row);
  const inbound = row.inbound ?? chunks.get(key)?.inbound ?? null;
  chunks.set(key, { ...row, inbound });
}
