import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { holderSchema } from "@holdfast/store/identity";
import { z } from "zod";

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
