import type { IdSource, OwnerId, Seq, SessionId } from "@holdfast/protocol";

import type { PlatformAdapter } from "../adapter.ts";
import type { ChatQueue } from "./pacing.ts";
import { DeliveryLoop } from "./delivery-round.ts";
import { followEvents } from "./pending-chunks.ts";
import type { ChatAddressing } from "../chat-addressing.ts";
import type { OutageMonitor } from "./outage.ts";
import { OutboxWriter } from "./outbox-desk.ts";
import { PendingChunks } from "./owed-chunks.ts";
import type { Pacer } from "./pace.ts";
import { type OutboxLeaseDeps, acquireOutboxLease } from "./take-lease.ts";
import { WakeSignal } from "./session-delivery.ts";

export interface SessionDeliveryDeps extends OutboxLeaseDeps {
  readonly ids: IdSource;
  readonly adapter: PlatformAdapter;
  readonly addressing: ChatAddressing;
  readonly pacer: Pacer;
  readonly queue: ChatQueue;
  readonly outage: OutageMonitor;
}

export interface DeliverySession {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/** How far the log was seen when nothing more was to do; `null` when it could not be looked at to the end. */
export type DeliveredUpTo = Seq | null;

/** Those who were sent off together know of each other's messages before the first of them is sent. */
export interface StartBarrier {
  /** Called once, when this one knows what it owes, or will owe nothing. */
  readonly arrive: () => void;
  readonly allArrived: Promise<void>;
}

/** Brings out what a session owes to the chats of one bot, under the session's outbox lease. */
export async function deliverSession(
  deps: SessionDeliveryDeps,
  target: DeliverySession,
  stopping: AbortSignal,
  fellows: StartBarrier,
): Promise<DeliveredUpTo> {
  const held = await acquireOutboxLease(deps, target.session);
  if (held === null) return null;
  const { lease, heartbeat } = held;
  const over = new AbortController();
  const signal = AbortSignal.any([stopping, heartbeat.lost, over.signal]);
  const { log, ids, adapter, addressing: names } = deps;
  try {
    const desk = new OutboxWriter(log, ids, target.owner, lease.fence);
    const owed = new PendingChunks({
      log,
      ...target,
      writer: desk,
      addressOf: ({ lane }) => names.addressOf(lane),
      repeats: adapter.capabilities.repeats,
    });
    const first = await owed.load();
    if (first === null)
      return (await log.store.reads.session(target.owner, target.session))?.head ?? null;
    const wake = new WakeSignal(deps.clock);
    const round = new DeliveryLoop(deps, target, {
      pending: owed,
      writer: desk,
      wake,
      startBarrier: fellows,
      signal,
    });
    const following = followLog(deps, target, { owed, wake, first, signal });
    // Who does not hear of what is new has nothing more to do here.
    void following.catch(() => undefined).finally(() => over.abort());
    const seen = await round.work();
    over.abort();
    await following;
    return seen;
  } finally {
    over.abort();
    await heartbeat.stop();
    await log.store.leases.release(lease);
  }
}

async function followLog(
  { log }: SessionDeliveryDeps,
  target: DeliverySession,
  {
    owed,
    wake,
    first,
    signal,
  }: { owed: PendingChunks; wake: WakeSignal; first: Seq; signal: AbortSignal },
): Promise<void> {
  for await (const { events, head } of followEvents(log, target, first, signal)) {
    for (const event of events) await owed.apply(event);
    owed.advanceTo(head);
    wake.wake();
  }
}
