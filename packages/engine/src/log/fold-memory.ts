import { columnText, type KnownEvent, type Seq, type StoredEvent } from "@holdfast/protocol";

import type { MarkRow, MemoryTryRow, SessionRow } from "../ports/rows.ts";
import type { Refused } from "../ports/commit.ts";
import { refuse } from "./check-commit.ts";

/** What an event changes in what is still to be remembered. It follows from the event alone, so nothing is read before. */
export type MemoryChange =
  | { readonly do: "mark"; readonly mark: MarkRow }
  | { readonly do: "try"; readonly trying: MemoryTryRow }
  | { readonly do: "forget"; readonly session: SessionRow["id"]; readonly upTo: Seq };

export function memoryChangeOf(event: KnownEvent, session: SessionRow): MemoryChange | undefined {
  switch (event.type) {
    case "memory.marked": {
      if (event.runId === undefined) return undefined;
      const { provider, configuration } = event.data.owner;
      const { seq, runId, at } = event;
      return {
        do: "mark",
        mark: { session: session.id, seq, runId, provider, configuration, at },
      };
    }
    case "memory.tried": {
      const { key, upTo, tries } = event.data;
      const trying = { key, upTo, tries, retryAt: null, code: null, message: null };
      return { do: "try", trying: { session: session.id, ...trying } };
    }
    case "memory.failed": {
      const { key, upTo, tries, retryAt } = event.data;
      const [code, message] = [columnText(event.data.code), columnText(event.data.message)];
      return {
        do: "try",
        trying: { session: session.id, key, upTo, tries, retryAt, code, message },
      };
    }
    case "memory.committed":
      return { do: "forget", session: session.id, upTo: event.data.upTo };
    default:
      return undefined;
  }
}

/** A turn is marked behind its completion, in the commit that completes it, and once. Nobody has committed what is still to come. */
export function checkMemory(
  event: KnownEvent,
  before: readonly StoredEvent[],
): Refused | undefined {
  switch (event.type) {
    case "memory.marked": {
      const ofRun = before.filter(({ runId }) => runId !== undefined && runId === event.runId);
      const isCompleted = ofRun.some(
        ({ type, data }) => type === "run.state" && data["state"] === "completed",
      );
      const isMarked = ofRun.some(({ type }) => type === event.type);
      if (isCompleted && !isMarked) return undefined;
      return refuse("invalid_event", "A turn is marked once, by the commit that completes it.");
    }
    case "memory.tried":
    case "memory.failed":
    case "memory.committed":
      if (event.data.upTo < event.seq) return undefined;
      return refuse("invalid_event", "A segment ends before its commit.");
    default:
      return undefined;
  }
}

/** What one session still has to remember. */
export class MemoryRows {
  readonly #marks = new Map<Seq, MarkRow>();
  #trying: MemoryTryRow | null = null;

  constructor(marks: Iterable<MarkRow> = [], trying: MemoryTryRow | null = null) {
    for (const mark of marks) this.#marks.set(mark.seq, mark);
    this.#trying = trying;
  }

  /** Oldest first. */
  get marks(): readonly MarkRow[] {
    return [...this.#marks.values()];
  }

  get trying(): MemoryTryRow | null {
    return this.#trying;
  }

  get tries(): readonly MemoryTryRow[] {
    return this.#trying === null ? [] : [this.#trying];
  }

  apply(change: MemoryChange): void {
    switch (change.do) {
      case "mark":
        this.#marks.set(change.mark.seq, change.mark);
        return;
      case "try":
        this.#trying = change.trying;
        return;
      case "forget":
        for (const seq of this.#marks.keys()) if (seq <= change.upTo) this.#marks.delete(seq);
        this.#trying = null;
    }
  }
}
