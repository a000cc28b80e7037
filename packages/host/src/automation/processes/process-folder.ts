import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { holderSchema } from "@holdfast/store/identity";
import type { Holder, Liveness } from "@holdfast/engine";
import { networkGrant } from "../../sandbox/network/open-network.ts";
import type { ProcessRecord } from "./process-store.ts";

/** How to start a process. Written by the host, read by the minder. */
export const processSpec = z.object({
  argv: z.tuple([z.string()], z.string()),
  folder: z.string(),
  environment: z.record(z.string(), z.string()),
  endsWithParent: z.literal(true).optional(),
  timeLimitMs: z.number(),
  /** What a confined command may reach. */
  network: networkGrant.optional(),
});
export type ProcessSpec = z.infer<typeof processSpec>;

/** The minder, and the leader of the command's process group. */
const startRecord = z.object({ minder: holderSchema, leader: holderSchema });
export type StartRecord = z.infer<typeof startRecord>;

/** How a process ended, as the minder saw it. `lost`: nobody saw it. */
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
  started: "begun.json",
  end: "end.json",
  /** What it asked of the network, once it has ended. */
  reached: "reached.json",
  /** Touched while the minder is alive. */
  beat: "beat",
} as const;

export const heartbeatMs = 5_000;

/** The minder starts the command within this time after the spec was written, or never. */
export const startWithinMs = 10_000;

export function readSpec(folder: string): Promise<ProcessSpec | null> {
  return readJson(join(folder, fileNames.spec), processSpec);
}

export function readStartRecord(folder: string): Promise<StartRecord | null> {
  return readJson(join(folder, fileNames.started), startRecord);
}

export function readEnd(folder: string): Promise<ProcessEnd | null> {
  return readJson(join(folder, fileNames.end), processEnd);
}

const reachedHosts = z.array(
  z.object({ host: z.string(), port: z.int(), outcome: z.string(), times: z.int() }),
);

export async function readReached(folder: string): Promise<z.infer<typeof reachedHosts>> {
  return (await readJson(join(folder, fileNames.reached), reachedHosts)) ?? [];
}

/** `null`: missing or malformed. */
async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T | null> {
  try {
    return schema.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return null;
  }
}

/** Size of one output file: the first and the last two are kept. */
const segmentBytes = 256 * 1024;
const segmentName = (index: number): string => `out.${index}`;

/**
 * Keeps the beginning and the end of an output of any length in files of bounded size: the first segment, the
 * newest one and the one before it. Written synchronously, so that a kill loses nothing.
 */
export function createOutputWriter(folder: string): { add(text: string): void } {
  let index = 0;
  let written = 0;
  let file = openSync(join(folder, segmentName(index)), "w", 0o600);
  function startSegment(): void {
    const next = openSync(join(folder, segmentName(index + 1)), "w", 0o600);
    closeSync(file);
    file = next;
    index += 1;
    written = 0;
    if (index > 2) rmSync(join(folder, segmentName(index - 2)), { force: true });
  }
  return {
    add(text) {
      try {
        if (written >= segmentBytes) startSegment();
        written += writeSync(file, text);
      } catch {
        // A full disk costs the output, not the process.
      }
    },
  };
}

/** The end of the stored output, at most `maxLength` characters, and whether that is all of it. */
export async function readOutput(
  folder: string,
  maxLength: number,
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  const names = await readdir(folder).catch(() => []);
  const indices = names
    .flatMap((name) => /^out\.(?<piece>\d+)$/.exec(name)?.groups?.["piece"] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
  const newest = indices.slice(-3);
  // With four or more segments there is a gap after the first; only the contiguous end is read.
  const contiguous = newest.every(
    (index, position) => position === 0 || index === (newest[position - 1] ?? 0) + 1,
  )
    ? newest
    : newest.slice(1);
  const texts = await Promise.all(
    contiguous.map((index) => readFile(join(folder, segmentName(index)), "utf8").catch(() => "")),
  );
  const whole = texts.join("");
  const isWhole = contiguous[0] === 0 && whole.length <= maxLength;
  return { text: whole.slice(-maxLength).toWellFormed(), isWhole };
}

export type ProcessState =
  | { readonly kind: "running"; readonly started: StartRecord }
  /** Its host is about to start it. */
  | { readonly kind: "starting" }
  | { readonly kind: "ended"; readonly end: ProcessEnd };

/** Without a heartbeat for this long the minder counts as gone, if its liveness cannot be determined. */
const heartbeatTimeoutMs = 12 * heartbeatMs;

/**
 * Determines a process's state from its files and from who is alive. An end is what the minder wrote; without one,
 * and with nobody left to write it, the process is lost.
 */
export async function readProcessState(
  folder: string,
  process: Pick<ProcessRecord, "by">,
  liveness: Liveness,
): Promise<ProcessState> {
  const age = await specAge(folder);
  const isRecent = age !== null && age < startWithinMs + heartbeatMs;
  const recordedEnd = await readEnd(folder);
  // P11: the tool call itself reports a failed start, as long as its host is alive.
  const isReportedByCall = isRecent && recordedEnd?.kind === "not_started";
  if (isReportedByCall && liveness.isDead(process.by) === "alive") return { kind: "starting" };
  if (recordedEnd !== null) return { kind: "ended", end: recordedEnd };
  const started = await readStartRecord(folder);
  if (started === null) {
    // Its host may have died just after spawning the minder, which then starts the command within this time, or
    // never.
    const mayBegin = age === null ? !(await isMinderGone(folder, process.by, liveness)) : isRecent;
    return mayBegin ? { kind: "starting" } : endedOrLost(folder);
  }
  if (!(await isMinderGone(folder, started.minder, liveness))) return { kind: "running", started };
  const ended = await endedOrLost(folder);
  if (ended.end.kind === "lost") killGroup(started.leader, liveness);
  return ended;
}

/** The minder may have written the end and exited since we looked. */
async function endedOrLost(folder: string): Promise<Extract<ProcessState, { kind: "ended" }>> {
  return { kind: "ended", end: (await readEnd(folder)) ?? { kind: "lost" } };
}

/** Age of the spec; `null`: not written yet, or removed. */
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

/**
 * A process without a minder has no time limit and cannot be stopped, so it is killed, but only if it is proven to
 * be ours.
 */
function killGroup(leader: Holder, liveness: Liveness): void {
  if (liveness.isDead(leader) !== "alive") return;
  try {
    process.kill(-leader.pid, "SIGKILL");
  } catch {
    // It has just exited.
  }
}

/** Asks the minder to stop the process, and continues the minder in case its command suspended it. */
export function requestStop({ minder }: StartRecord, liveness: Liveness): void {
  if (liveness.isDead(minder) !== "alive") return;
  try {
    process.kill(minder.pid, "SIGTERM");
    process.kill(minder.pid, "SIGCONT");
  } catch {
    // It has just exited.
  }
}
