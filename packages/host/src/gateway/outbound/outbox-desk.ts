import type { Log, OutboxRow } from "@holdfast/engine";
import {
  type EventData,
  type Fence,
  type IdSource,
  newEvent,
  type NewEvent,
  type OwnerId,
  type StoredEvent,
} from "@holdfast/protocol";

import { afterUnknown, unknownNotice, resent } from "./chunk.ts";

/** The event that says what a chunk is from here on. */
export function chunkEvent(ids: IdSource, row: OutboxRow): NewEvent {
  const { delivery, chunk, kind, lane, begun, state, from, to, attempts, runId } = row;
  const { approvalId, replyTo, text, platformId, retryAt, code, message } = row;
  const data: EventData<"outbox.changed"> = {
    delivery,
    chunk,
    kind,
    lane,
    begun,
    state,
    from,
    to,
    attempts,
    ...(approvalId !== null && { approvalId }),
    ...(replyTo !== null && { replyTo }),
    ...(text !== null && { text }),
    ...(platformId !== null && { platformId }),
    ...(retryAt !== null && { retryAt }),
    ...(code !== null && { code: code.slice(0, 100) }),
    ...(message !== null && { message: message.slice(0, 500) }),
  };
  return newEvent(ids.make("event"), "outbox.changed", data, runId ?? undefined);
}

/** The chunk behind one that is done with, still to be sent. */
export function nextChunk(row: OutboxRow, code: string | null = null): OutboxRow {
  const { to, chunk } = row;
  const untouched = { state: "pending", platformId: null, attempts: 0, retryAt: null } as const;
  return {
    ...row,
    ...untouched,
    chunk: chunk + 1,
    from: to,
    inbound: null,
    replyTo: null,
    code,
    message: null,
  };
}

/** Writes what becomes of chunks, under the session's outbox lease: who has lost it writes nothing any more. */
export class OutboxWriter {
  readonly #log: Log;
  readonly #ids: IdSource;
  readonly #owner: OwnerId;
  readonly #fence: Fence;
  readonly #wrote = new Set<string>();

  constructor(log: Log, ids: IdSource, owner: OwnerId, fence: Fence) {
    this.#log = log;
    this.#ids = ids;
    this.#owner = owner;
    this.#fence = fence;
  }

  /** P11: `false` says that nothing was written, and nothing may be sent on the strength of it. */
  async write(...rows: readonly OutboxRow[]): Promise<boolean> {
    const [first] = rows;
    if (first === undefined) return true;
    const events = rows.map((row) => chunkEvent(this.#ids, row));
    for (const { id } of events) this.#wrote.add(id);
    const result = await this.#log.commit({
      owner: this.#owner,
      session: first.session,
      events,
      under: { lease: "outbox", fence: this.#fence },
      // Nothing of this is the person's or the model's doing.
      touch: "quiet",
    });
    return result.status === "committed";
  }

  /** P11: it may have arrived or not. It is not sent again by itself, and what goes out next says so; `null`: nothing was written. */
  async writeUnknown(row: OutboxRow, code: string, message: string | null) {
    const next = row.code === resent ? this.#noteBehind(row) : nextChunk(row, afterUnknown);
    return (await this.write({ ...row, state: "unknown", code, message }, next)) ? next : null;
  }

  /** What follows a chunk that a person wanted again is out already: the mark alone goes out behind it. */
  #noteBehind(row: OutboxRow): OutboxRow {
    const note = { kind: "note", text: unknownNotice, chunk: 0, from: 0, to: 0 } as const;
    const delivery = this.#ids.make("delivery");
    return { ...nextChunk(row), ...note, delivery, runId: null, approvalId: null };
  }

  /** Whether an event that is read back was written here; it is asked once for each. */
  isOwnEvent(event: StoredEvent): boolean {
    return this.#wrote.delete(event.id);
  }
}
