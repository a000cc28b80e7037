import { closeSync, openSync, writeSync } from "node:fs";

import type { SessionId, StoredEvent } from "@holdfast/protocol";

import type { ClientResponse, RunnerMessage, ClientRequest } from "./protocol.ts";

/**
 * Everything that was asked, answered, printed, shown and done to the processes, in the order in which it was
 * observed.
 */
export type HistoryEntry =
  | {
      readonly kind: "asked";
      readonly number: number;
      readonly by: string;
      readonly door: string;
      readonly request: ClientRequest;
    }
  | { readonly kind: "answered"; readonly number: number; readonly answer: ClientResponse }
  | { readonly kind: "said"; readonly by: string; readonly message: RunnerMessage }
  | {
      readonly kind: "seen";
      readonly by: string;
      readonly session: SessionId;
      readonly events: readonly StoredEvent[];
    }
  /** A follower starts, or was told to start over, after this seq. */
  | {
      readonly kind: "placed";
      readonly by: string;
      readonly session: SessionId;
      readonly after: number;
    }
  | { readonly kind: "fault"; readonly what: FaultName; readonly whom: string }
  | { readonly kind: "wrong"; readonly what: string };

export type FaultName =
  | "kill"
  | "kill while starting"
  | "kill all"
  | "stop"
  | "continue"
  | "orderly stop"
  | "start"
  | "could not start"
  | "database restart"
  | "database crash"
  | "connections cut"
  | "connection cut at a commit"
  | "disk full"
  /** One of the faults of several machines, which `whom` describes. */
  | "nodes"
  | "healed";

export type TimedEntry = HistoryEntry & { readonly at: number };

/** The record of a chaos run, in a file that is kept when something is wrong. */
export class History {
  readonly file: string;
  readonly happened: TimedEntry[] = [];
  readonly #descriptor: number;
  /** How far each follower was shown each session. */
  readonly shown = new Map<string, number>();
  /** The last process that has written under a fence. */
  busiest: string | undefined;
  #acknowledged = 0;
  #numbers = 0;

  constructor(file: string) {
    this.file = file;
    this.#descriptor = openSync(file, "w");
  }

  /** How many requests have been acknowledged so far. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** The id of a request. */
  nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  note(happening: HistoryEntry): void {
    const happened: TimedEntry = { at: Date.now(), ...happening };
    this.happened.push(happened);
    if (happening.kind === "answered" && happening.answer.kind === "done") this.#acknowledged += 1;
    if (happening.kind === "said" && happening.message.word === "committed")
      this.busiest = happening.by;
    if (happening.kind === "seen" || happening.kind === "placed")
      this.shown.set(`${happening.by} ${happening.session}`, placeAfter(happening));
    writeSync(this.#descriptor, `${JSON.stringify(happened)}\n`);
  }

  of<K extends HistoryEntry["kind"]>(kind: K): Extract<TimedEntry, { kind: K }>[] {
    return this.happened.filter(
      (entry): entry is Extract<TimedEntry, { kind: K }> => entry.kind === kind,
    );
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

function placeAfter(entry: Extract<HistoryEntry, { kind: "seen" | "placed" }>): number {
  return entry.kind === "placed" ? entry.after : (entry.events.at(-1)?.seq ?? 0);
}
