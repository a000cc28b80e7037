import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { holderSchema } from "@holdfast/store/identity";
import type { Holder, Liveness } from "@holdfast/engine";
import type { ProcessRecord } from "./process-store.ts";

/** What a process is started with. Written by the host, read by the one who minds it. */
export const processSpec = z.object({
  argv: z.tuple([z.string()], z.string()),
  folder: z.string(),
  environment: z.record(z.string(), z.string()),
  timeLimitMs: z.number(),
});
export type ProcessSpec = z.infer<typeof processSpec>;

/** Who minds it, and the leader of the group that it runs in. */
const startRecord = z.object({ minder: holderSchema, leader: holderSchema });
export type StartRecord = z.infer<typeof startRecord>;

/** How it ended, as who minded it has seen. `lost`: nobody has seen it. */
export const processEnd = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("exited"), code: z.int() }),
  z.object({ kind: z.literal("killed"), signal: z.string() }),
  z.object({ kind: z.literal("stopped"), why: z.enum(["asked", "time"]) }),
  z.object({ kind: z.literal("not_started"), code: z.string() }),
  z.object({ kind: z.literal("lost") }),
]);
export type ProcessEnd = z.infer<typeof processEnd>;

export const fileNames = {
  spec: "spec.json",
  begun: "begun.json",
  end: "end.json",
  /** Touched while it is minded. */
  beat: "beat",
} as const;

export const heartbeatMs = 5_000;

/** Who minds a process begins it within this time of its being written down, or never. */
export const startWithinMs = 10_000;

export function readSpec(folder: string): Promise<ProcessSpec | null> {
  return readJson(join(folder, fileNames.spec), processSpec);
}

export function readStartRecord(folder: string): Promise<StartRecord | null> {
  return readJson(join(folder, fileNames.begun), startRecord);
}

export function readEnd(folder: string): Promise<ProcessEnd | null> {
  return readJson(join(folder, fileNames.end), processEnd);
}

/** `null`: it is not there, or is not what it should be. */
async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T | null> {
  try {
    return schema.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return null;
  }
}

/** So much of a process's output is kept: its beginning, and twice as much of its end. */
const segmentBytes = 256 * 1024;
const segmentName = (piece: number): string => `out.${piece}`;

/**
 * Keeps the beginning and the end of an output of any length in files of bounded size: the first piece, the newest one and
 * the one before it. Written at once, so that whoever kills the writer loses nothing of it.
 */
export function createOutputWriter(folder: string): { add(text: string): void } {
  let piece = 0;
  let written = 0;
  let file = openSync(join(folder, segmentName(piece)), "w", 0o600);
  function beginPiece(): void {
    const next = openSync(join(folder, segmentName(piece + 1)), "w", 0o600);
    closeSync(file);
    file = next;
    piece += 1;
    written = 0;
    if (piece > 2) rmSync(join(folder, segmentName(piece - 2)), { force: true });
  }
  return {
    add(text) {
      try {
        if (written >= segmentBytes) beginPiece();
        written += writeSync(file, text);
      } catch {
        // A disk without room costs the output, and not the process.
      }
    },
  };
}

/** The end of what is kept, at most so many characters, and whether that is all of it. */
export async function readOutput(
  folder: string,
  most: number,
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  const names = await readdir(folder).catch(() => []);
  const pieces = names
    .flatMap((name) => /^out\.(?<piece>\d+)$/.exec(name)?.groups?.["piece"] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
  const newest = pieces.slice(-3);
  // The first piece stands before a gap once there are four; what is read here is the end.
  const joined = newest.every((piece, n) => n === 0 || piece === (newest[n - 1] ?? 0) + 1)
    ? newest
    : newest.slice(1);
  const texts = await Promise.all(
    joined.map((piece) => readFile(join(folder, segmentName(piece)), "utf8").catch(() => "")),
  );
  const whole = texts.join("");
  const isWhole = joined[0] === 0 && whole.length <= most;
  return { text: whole.slice(-most).toWellFormed(), isWhole };
}

export type ProcessState =
  | { readonly kind: "running"; readonly begun: StartRecord }
  /** Its host is about to start it. */
  | { readonly kind: "starting" }
  | { readonly kind: "ended"; readonly end: ProcessEnd };

/** So long nobody has minded it, where it cannot be proven that somebody does. */
const heartbeatTimeoutMs = 12 * heartbeatMs;

/**
 * How a process stands, by what its files say and by who is alive. An end is what who minded it has written down; without
 * one, and with nobody left who could write it, the process is lost, and that is said and nothing else.
 */
export async function readProcessState(
  folder: string,
  process: Pick<ProcessRecord, "by">,
  liveness: Liveness,
): Promise<ProcessState> {
  const age = await specAge(folder);
  const isYoung = age !== null && age < startWithinMs + heartbeatMs;
  const first = await readEnd(folder);
  // P11: that it could not be started is the word of the call, as long as there is somebody who says it.
  const isForCall = isYoung && first?.kind === "not_started";
  if (isForCall && liveness.isDead(process.by) === "alive") return { kind: "starting" };
  if (first !== null) return { kind: "ended", end: first };
  const begun = await readStartRecord(folder);
  if (begun === null) {
    // Its host may have died in the moment between: who minds it then says so within this time, or never.
    const mayBegin = age === null ? !(await isMinderGone(folder, process.by, liveness)) : isYoung;
    return mayBegin ? { kind: "starting" } : endedOrLost(folder);
  }
  if (!(await isMinderGone(folder, begun.minder, liveness))) return { kind: "running", begun };
  const seen = await endedOrLost(folder);
  if (seen.end.kind === "lost") killGroup(begun.leader, liveness);
  return seen;
}

/** Who minded it may have written the end down and gone while we looked. */
async function endedOrLost(folder: string): Promise<Extract<ProcessState, { kind: "ended" }>> {
  return { kind: "ended", end: (await readEnd(folder)) ?? { kind: "lost" } };
}

/** How long ago it was written down; `null`: it is not, yet or any more. */
export async function specAge(folder: string): Promise<number | null> {
  const spec = await stat(join(folder, fileNames.spec)).catch(() => null);
  return spec && Date.now() - spec.mtimeMs;
}

async function isMinderGone(folder: string, minder: Holder, liveness: Liveness): Promise<boolean> {
  switch (liveness.isDead(minder)) {
    case "dead":
      return true;
    case "alive":
      return false;
    case "unknown": {
      const beat = await stat(join(folder, fileNames.beat)).catch(() => null);
      return beat === null || Date.now() - beat.mtimeMs > heartbeatTimeoutMs;
    }
  }
}

/** What nobody minds any more has no time limit and cannot be stopped: it ends. Only what is proven to be it is killed. */
function killGroup(leader: Holder, liveness: Liveness): void {
  if (liveness.isDead(leader) !== "alive") return;
  try {
    process.kill(-leader.pid, "SIGKILL");
  } catch {
    // It has just gone.
  }
}

/** Asks who minds it to end it, and wakes them: what they mind may have put them to sleep. */
export function requestStop({ minder }: StartRecord, liveness: Liveness): void {
  if (liveness.isDead(minder) !== "alive") return;
  try {
    process.kill(minder.pid, "SIGTERM");
    process.kill(minder.pid, "SIGCONT");
  } catch {
    // It has just gone.
  }
}
