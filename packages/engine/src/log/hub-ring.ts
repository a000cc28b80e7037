import type { Seq, StoredEvent } from "@holdfast/protocol";

import { measureJson } from "./limits-json.ts";

export interface RingLimits {
  readonly events: number;
  readonly bytes: number;
}

/** Every event after `after`, up to and with `upTo`, that was there to read. */
export interface EventSpan {
  readonly after: Seq;
  readonly upTo: Seq;
  readonly events: readonly StoredEvent[];
}

/**
 * The newest events of one session, without a hole: stretch by stretch, each beginning where the last one ends. The
 * newest stretch is kept whatever its size, so that a reader who has everything before it never misses it.
 */
export class EventRing {
  readonly #limits: RingLimits;
  #stretches: (EventSpan & { readonly bytes: number })[] = [];
  #events = 0;
  #bytes = 0;
  #from: Seq;
  #to: Seq;

  constructor(at: Seq, limits: RingLimits) {
    this.#from = at;
    this.#to = at;
    this.#limits = limits;
  }

  /** The place before the oldest event that is still here. */
  get from(): Seq {
    return this.#from;
  }

  get to(): Seq {
    return this.#to;
  }

  /** Takes the part of a stretch that is new. `false` when there is a hole before it, or nothing new. */
  append({ after, upTo, events }: EventSpan): boolean {
    if (after > this.#to || upTo <= this.#to) return false;
    const fresh = after === this.#to ? events : events.filter((event) => event.seq > this.#to);
    const bytes = fresh.reduce((sum, event) => sum + roughBytes(event), 0);
    this.#stretches.push({ after: this.#to, upTo, events: fresh, bytes });
    this.#to = upTo;
    this.#events += fresh.length;
    this.#bytes += bytes;
    this.#trim();
    return true;
  }

  /** Everything after the cursor, or nothing when the ring does not reach back to it. */
  after(cursor: Seq): EventSpan | undefined {
    if (cursor < this.#from || cursor >= this.#to) return undefined;
    const needed = this.#stretches.slice(this.#placeOf(cursor));
    const [only] = needed;
    // The common case: every reader gets the very same list.
    if (needed.length === 1 && only?.after === cursor) return only;
    const events = needed.flatMap((stretch) => stretch.events).filter(({ seq }) => seq > cursor);
    return { after: cursor, upTo: this.#to, events };
  }

  /** The stretch with the event after the cursor. Readers stand at the end nearly always, so the search begins there. */
  #placeOf(cursor: Seq): number {
    let place = this.#stretches.length - 1;
    while (place > 0 && (this.#stretches[place]?.after ?? 0) > cursor) place -= 1;
    return place;
  }

  #trim(): void {
    const { events, bytes } = this.#limits;
    while (this.#stretches.length > 1 && (this.#events > events || this.#bytes > bytes)) {
      const oldest = this.#stretches.shift();
      if (oldest === undefined) return;
      this.#events -= oldest.events.length;
      this.#bytes -= oldest.bytes;
      this.#from = oldest.upTo;
    }
  }
}

function roughBytes(event: StoredEvent): number {
  const measured = measureJson(event.data);
  return 200 + (measured.status === "plain" ? measured.atMost / 3 : 0);
}
