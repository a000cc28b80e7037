import { type Log, type OutboxRow, StoreFailure } from "@holdfast/engine";
import {
  newEvent,
  type LaneKey,
  type OwnerId,
  type RunId,
  type Seq,
  type SessionId,
} from "@holdfast/protocol";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import { resent, chunkEvent } from "./chunk.ts";
import { sessionForLane } from "../lane-session.ts";
import type { ChatAddressing } from "../chat-addressing.ts";

interface OutboxDeps {
  readonly log: Log;
  readonly owner: OwnerId;
}

interface DeliveryTarget {
  readonly session: SessionId;
  readonly lane: LaneKey;
  /** What it answers: the same again is owed once. */
  readonly key: string;
  readonly replyTo: string | null;
}

/** A run that a command began may have begun a little before we could look. */
const lookBackSeqs = 1_000;

/** `failed`: the store could not take it, and may later. */
export type EnqueueStatus = "owed" | "refused" | "failed";

/** A line of the host's own, delivered like any answer. */
export function enqueueNote(
  { log, owner }: OutboxDeps,
  owed: DeliveryTarget,
  text: string,
): Promise<EnqueueStatus> {
  return enqueueDelivery({ log, owner }, owed, { kind: "note", text });
}

/** What a run says, where a command and not a message asked for it. */
export function enqueueAnswer(
  deps: OutboxDeps,
  owed: DeliveryTarget,
  runId: RunId,
): Promise<EnqueueStatus> {
  return enqueueDelivery(deps, owed, { kind: "answer", runId });
}

async function enqueueDelivery(
  { log, owner }: OutboxDeps,
  { session, lane, key, replyTo }: DeliveryTarget,
  what:
    | { readonly kind: "note"; readonly text: string }
    | { readonly kind: "answer"; readonly runId: RunId },
): Promise<EnqueueStatus> {
  const row = await log.store.reads.session(owner, session);
  if (row === null) return "refused";
  const ids = deterministicIds(`owe ${what.kind} ${key}`);
  const runId = what.kind === "answer" ? what.runId : undefined;
  const begun = what.kind === "answer" ? Math.max(0, row.head - lookBackSeqs) : row.head;
  const event = newEvent(
    ids.make("event"),
    "outbox.changed",
    {
      delivery: ids.make("delivery"),
      chunk: 0,
      kind: what.kind,
      lane,
      inbound: key,
      begun: begun as Seq,
      state: "pending",
      from: 0,
      to: 0,
      attempts: 0,
      ...(replyTo !== null && { replyTo }),
      ...(what.kind === "note" && { text: what.text }),
    },
    runId,
  );
  const { status } = await log.commit({ owner, session, events: [event], touch: "quiet" });
  return status === "committed" ? "owed" : status;
}

/** A person's word on a chunk that may or may not have arrived. */
export async function settleUnknownChunk(
  { log, owner }: OutboxDeps,
  row: OutboxRow,
  how: "resend" | "drop",
  key: string,
): Promise<boolean> {
  const ids = deterministicIds(`${how} ${row.delivery} ${row.chunk} ${key}`);
  const settled: OutboxRow =
    how === "drop"
      ? { ...row, state: "dropped", code: "by_a_person" }
      : { ...row, state: "pending", platformId: null, attempts: 0, retryAt: null, code: resent };
  const { session } = row;
  const events = [chunkEvent(ids, settled)];
  const result = await log.commit({ owner, session, events, touch: "quiet" });
  return result.status === "committed";
}

const welcomeText = "You are let in. Say what you want; /help tells the rest.";

/**
 * Tells a person in the chat where they asked that they may speak, once for their code. Where the store cannot take that now it
 * is left: that they are let in is written down, and they find out when they write again.
 */
export async function enqueueWelcome(
  deps: { readonly log: Log; readonly owner: OwnerId; readonly names: ChatAddressing },
  chat: string,
  code: string,
): Promise<SessionId | null> {
  const lane = deps.names.laneOf({ chat, thread: null, kind: "private" });
  const key = `welcome:${lane}:${code.toUpperCase()}`;
  try {
    const session = await sessionForLane(deps, lane, key);
    const owed = await enqueueNote(deps, { session, lane, key, replyTo: null }, welcomeText);
    return owed === "owed" ? session : null;
  } catch (error) {
    if (error instanceof StoreFailure) return null;
    throw error;
  }
}
