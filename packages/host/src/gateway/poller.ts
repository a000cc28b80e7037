import type { Clock, Register } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";

import type { Adapter, Incoming, Trouble } from "./adapter.ts";
import type { Standing } from "./status.ts";

export interface PollerDeps {
  readonly adapter: Adapter;
  readonly register: Register;
  readonly owner: OwnerId;
  /** Platform and bot: names its cursor. */
  readonly bot: string;
  readonly clock: Clock;
  readonly take: (incoming: Incoming) => Promise<unknown>;
  readonly onState: (state: Standing) => void;
}

const contendedMs = 5_000;
const againMs = 1_000;
const cursorSchema = z.int().nonnegative();

/**
 * Asks a platform for what is new. P11: a page is confirmed, by asking for the next, only when all of it has been taken; how
 * far that was is durable, so that a host that begins again asks for nothing that it had.
 */
export async function poll(deps: PollerDeps, signal: AbortSignal): Promise<void> {
  const { adapter, clock, onState } = deps;
  let { cursor, revision } = await readCursor(deps);
  // Whether anybody is there is found out without waiting.
  let patience: "wait" | "look" = "look";
  while (!signal.aborted) {
    const received = await adapter.receive(cursor, patience, signal);
    if (signal.aborted) return;
    if (received.status !== "received") {
      patience = "look";
      const { message } = received;
      const isOurs = received.status !== "contended";
      onState(isOurs ? troubleState(received) : { ...contended, message });
      await clock.sleep(isOurs ? pauseOf(received) : contendedMs, signal);
      continue;
    }
    patience = "wait";
    onState({ state: "receiving" });
    if (received.next === cursor) continue;
    const taken = await Promise.allSettled(received.incoming.map(deps.take));
    const failed = taken.find((each) => each.status === "rejected");
    if (failed !== undefined) {
      onState({ state: "trouble", code: "store", message: String(failed.reason) });
      await clock.sleep(againMs, signal);
      continue;
    }
    cursor = received.next;
    revision = await keepCursor(deps, cursor, revision);
  }
}

const contended = { state: "contended", code: "foreign_poller" } as const;

function troubleState({ code, message }: Trouble): Standing {
  return { state: "trouble", code, message };
}

function pauseOf(trouble: Trouble): number {
  return trouble.status === "later" ? trouble.afterMs : againMs;
}

const keyOf = ({ bot }: PollerDeps) => `poller/${bot}`;

async function readCursor(deps: PollerDeps): Promise<{ cursor: number; revision: number }> {
  const row = await deps.register.read(deps.owner, keyOf(deps));
  if (row === null) return { cursor: 0, revision: 0 };
  const parsed = cursorSchema.safeParse(JSON.parse(row.value));
  return { cursor: parsed.success ? parsed.data : 0, revision: row.revision };
}

/** A cursor that could not be kept costs a repetition, which the inbound keys see through. */
async function keepCursor(deps: PollerDeps, cursor: number, revision: number): Promise<number> {
  const { register, owner } = deps;
  const change = { owner, key: keyOf(deps), value: JSON.stringify(cursor), expect: revision };
  const result = await register.put(change);
  if (result.status === "failed") return revision;
  return result.row?.revision ?? 0;
}
