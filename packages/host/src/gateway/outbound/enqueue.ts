import { type Clock, type Log, type OutboxRow, StoreFailure } from "@holdfast/engine";
import {
  backoffMs,
  type IdSource,
  newEvent,
  type LaneKey,
  type OwnerId,
  type RunId,
  type Seq,
  type SessionId,
  type SessionMode,
} from "@holdfast/protocol";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import { resent, chunkEvent, nextChunk, noticeAbove, overwritten } from "./chunk.ts";
import { type ChatAddressing, sessionForLane } from "../lanes.ts";
import { botStrings } from "../strings.ts";

interface OutboxDeps {
  readonly log: Log;
  readonly owner: OwnerId;
}

interface DeliveryTarget {
  readonly session: SessionId;
  readonly lane: LaneKey;
  /** The inbound message it answers: the same key is enqueued once. */
  readonly key: string;
  readonly replyTo: string | null;
}

/** A run started by a command may have started slightly before we read the head. */
const lookBackSeqs = 1_000;

/** `failed`: the store could not write it, and may later. */
export type EnqueueStatus = "queued" | "refused" | "failed";

/** A message from the host itself, delivered like an answer. */
export function enqueueNote(
  { log, owner }: OutboxDeps,
  target: DeliveryTarget,
  text: string,
): Promise<EnqueueStatus> {
  return enqueueDelivery({ log, owner }, target, { kind: "note", text });
}

/** A run's answer, if a command rather than a message started the run. */
export function enqueueAnswer(
  deps: OutboxDeps,
  target: DeliveryTarget,
  runId: RunId,
): Promise<EnqueueStatus> {
  return enqueueDelivery(deps, target, { kind: "answer", runId });
}

async function enqueueDelivery(
  { log, owner }: OutboxDeps,
  { session, lane, key, replyTo }: DeliveryTarget,
  content:
    | { readonly kind: "note"; readonly text: string }
    | { readonly kind: "answer"; readonly runId: RunId },
): Promise<EnqueueStatus> {
  const row = await log.store.reads.session(owner, session);
  if (row === null) return "refused";
  const ids = deterministicIds(`owe ${content.kind} ${key}`);
  const runId = content.kind === "answer" ? content.runId : undefined;
  const firstSeq = content.kind === "answer" ? Math.max(0, row.head - lookBackSeqs) : row.head;
  const event = newEvent(
    ids.make("event"),
    "outbox.changed",
    {
      delivery: ids.make("delivery"),
      chunk: 0,
      kind: content.kind,
      lane,
      inbound: key,
      begun: firstSeq as Seq,
      state: "pending",
      from: 0,
      to: 0,
      attempts: 0,
      ...(replyTo !== null && { replyTo }),
      ...(content.kind === "note" && { text: content.text }),
    },
    runId,
  );
  const { status } = await log.commit({ owner, session, events: [event], touch: "quiet" });
  return status === "committed" ? "queued" : status;
}

/** Applies a person's decision on a chunk that may or may not have arrived. */
export async function settleUnknownChunk(
  { log, owner }: OutboxDeps,
  row: OutboxRow,
  action: "resend" | "drop",
  key: string,
): Promise<boolean> {
  const ids = deterministicIds(`${action} ${row.delivery} ${row.chunk} ${key}`);
  const settled: OutboxRow =
    action === "drop"
      ? { ...row, state: "dropped", code: "by_a_person" }
      : { ...row, state: "pending", platformId: null, attempts: 0, retryAt: null, code: resent };
  const { session } = row;
  const events = [chunkEvent(ids, settled)];
  const result = await log.commit({ owner, session, events, touch: "quiet" });
  return result.status === "committed";
}

const finalEditTries = 5;
const finalEditBackoff = { firstMs: 500, longestMs: 5_000 };

/**
 * The message shows, or may show, an older text than the host that delivers it now has given it. Whoever delivers next
 * edits the final text in, as a delivery of its own: the row may be written by its holder alone.
 */
export async function enqueueFinalEdit(
  { log, owner, ids, clock }: OutboxDeps & { readonly ids: IdSource; readonly clock: Clock },
  row: OutboxRow,
): Promise<void> {
  const { session, from, platformId } = row;
  const edit: OutboxRow = {
    ...nextChunk(row, overwritten),
    delivery: ids.make("delivery"),
    chunk: 0,
    from,
    to: from,
    platformId,
    message: noticeAbove(row),
  };
  const events = [chunkEvent(ids, edit)];
  for (let failures = 1; failures <= finalEditTries; failures += 1) {
    const { status } = await log.commit({ owner, session, events, touch: "quiet" });
    if (status !== "failed") return;
    await clock.sleep(backoffMs(finalEditBackoff, failures - 1));
  }
}

const welcomeText = botStrings.welcome;

/**
 * Tells a person in the chat where they asked that they are allowed, once per code. If the store fails, the
 * message is skipped: the decision itself is stored, and they notice when they write again.
 */
export async function enqueueWelcome(
  deps: OutboxDeps & {
    readonly addressing: ChatAddressing;
    readonly newSessionMode?: SessionMode | undefined;
  },
  chat: string,
  code: string,
): Promise<SessionId | null> {
  const lane = deps.addressing.laneOf({ chat, thread: null, kind: "private" });
  const key = `welcome:${lane}:${code.toUpperCase()}`;
  try {
    const session = await sessionForLane(deps, lane, key);
    const status = await enqueueNote(deps, { session, lane, key, replyTo: null }, welcomeText);
    return status === "queued" ? session : null;
  } catch (error) {
    if (error instanceof StoreFailure) return null;
    throw error;
  }
}
