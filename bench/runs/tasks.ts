import type { StoreAddress } from "../store/bench-database.ts";
import type { Summary } from "./meters.ts";

/** The tasks of a process with an engine. It answers with the result, and some stay until they are killed. */
export interface Tasks {
  /** Streaming live runs, each with one watcher. */
  stream: {
    readonly task: { readonly runs: number; readonly warmMs: number; readonly ms: number };
    readonly result: Streamed;
  };
  /** Live runs that stream until the process is killed. */
  hold: { readonly task: { readonly runs: number }; readonly result: readonly string[] };
  /** Takes over what a dead process has left. */
  takeOver: {
    readonly task: { readonly sessions: readonly string[]; readonly calmMs: number };
    readonly result: TakenOver;
  };
  memory: {
    readonly task: { readonly idle: number; readonly runs: number; readonly ms: number };
    readonly result: { readonly perIdle: number; readonly perRun: number; readonly deltas: number };
  };
}

/** How long a take-over measures appends before it looks for work. */
export const appendsBeforeMs = 1_000;

export type TaskName = keyof Tasks;

export interface Assignment<Name extends TaskName = TaskName> {
  readonly name: Name;
  readonly address: StoreAddress;
  readonly task: Tasks[Name]["task"];
}

export interface Streamed {
  readonly deltasPerSecond: number;
  readonly wantedPerSecond: number;
  readonly commitsPerSecond: number;
  readonly commit: Summary;
  readonly delivery: Summary;
  readonly admission: Summary;
  readonly loop: Summary;
  readonly cpuPercent: number;
}

export interface TakenOver {
  /** Since the process was started, and since it began to open the store. */
  readonly sinceStart: number;
  readonly sinceOpening: number;
  readonly sinceRunner: number;
  /** Appends of this process to another session, before the takeover and from then on. */
  readonly appendsBefore: Summary;
  readonly appendsMeanwhile: Summary;
  readonly loop: Summary;
}
