import type { IdSource, OwnerId, Seq, SessionId } from "@holdfast/protocol";

import type { Adapter } from "../adapter.ts";
import type { ChatOrder } from "./pacing.ts";
import { DeliveryRound } from "./delivery-round.ts";
import { followEvents } from "./pending-chunks.ts";
import type { Names } from "../chat-addressing.ts";
import type { Outage } from "./outage.ts";
import { OutboxDesk } from "./outbox-desk.ts";
import { OwedChunks } from "./owed-chunks.ts";
import type { Pacer } from "./pace.ts";
import { type LeaseDeps, takeOutbox } from "./take-lease.ts";
import { Wake } from "./session-delivery.ts";

export interface CourierDeps extends LeaseDeps {
  readonly ids: IdSource;
  readonly adapter: Adapter;
  readonly names: Names;
  readonly pacer: Pacer;
  readonly order: ChatOrder;
  readonly outage: Outage;
}

export interface CourierTarget {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/** How far the log was seen when nothing more was to do; `null` when it could not be looked at to the end. */
export type CourierEnd = Seq | null;

/** Those who were sent off together know of each other's messages before the first of them is sent. */
export interface Fellows {
  /** Called once, when this one knows what it owes, or will owe nothing. */
  readonly arrive: () => void;
  readonly all: Promise<void>;
}

/** Brings out what a session owes to the chats of one bot, under the session's outbox lease. */
export async function deliver(
  deps: CourierDeps,
  target: CourierTarget,
  stopping: AbortSignal,
  fellows: Fellows,
): Promise<CourierEnd> {
  const held = await takeOutbox(deps, target.session);
  if (held === null) return null;
  const { lease, heartbeat } = held;
  const over = new AbortController();
  const signal = AbortSignal.any([stopping, heartbeat.lost, over.signal]);
  const { log, ids, adapter, names } = deps;
  try {
    const desk = new OutboxDesk(log, ids, target.owner, lease.fence);
    const owed = new OwedChunks({
      log,
      ...target,
      desk,
      placeOf: ({ lane }) => names.placeOf(lane),
      repeats: adapter.capabilities.repeats,
    });
    const first = await owed.load();
    if (first === null)
      return (await log.store.reads.session(target.owner, target.session))?.head ?? null;
    const wake = new Wake(deps.clock);
    const round = new DeliveryRound(deps, target, { owed, desk, wake, fellows, signal });
    const following = follow(deps, target, { owed, wake, first, signal });
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

async function follow(
  { log }: CourierDeps,
  target: CourierTarget,
  { owed, wake, first, signal }: { owed: OwedChunks; wake: Wake; first: Seq; signal: AbortSignal },
): Promise<void> {
  for await (const { events, head } of followEvents(log, target, first, signal)) {
    for (const event of events) await owed.take(event);
    owed.reach(head);
    wake.ring();
  }
}
