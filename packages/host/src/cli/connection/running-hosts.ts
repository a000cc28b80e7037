import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLiveness, currentHolder } from "@holdfast/store/identity";
import { z } from "zod";

/** The file in its home by which a serving host is found. */
const announcementSchema = z.object({
  address: z.url(),
  startedAt: z.number(),
  holder: z.object({
    host: z.string(),
    boot: z.string().nullable(),
    pidNamespace: z.string().nullable(),
    pid: z.int().positive(),
    processStart: z.string().nullable(),
    thread: z.int(),
    agent: z.string(),
    nonce: z.string(),
  }),
});
type Announcement = z.infer<typeof announcementSchema>;

const runningFolder = (home: string): string => join(home, "running");

/**
 * Announces a host to processes that use its home, and returns how to withdraw that. Each process has its own
 * file, so two hosts on one home don't remove each other's. If the home is not writable, the host just cannot be
 * found.
 */
export function announceHost(home: string, address: string): () => void {
  const path = join(runningFolder(home), `${process.pid}.json`);
  const announcement: Announcement = {
    address,
    startedAt: Date.now(),
    holder: currentHolder("serve"),
  };
  try {
    mkdirSync(runningFolder(home), { recursive: true, mode: 0o700 });
    for (const { path: other, verdict } of readAnnouncements(home))
      if (verdict === "dead") rmSync(other, { force: true });
    const temporary = `${path}.new`;
    writeFileSync(temporary, JSON.stringify(announcement), { mode: 0o600 });
    renameSync(temporary, path);
  } catch {
    return () => undefined;
  }
  return () => {
    rmSync(path, { force: true });
  };
}

interface ReadAnnouncement {
  readonly path: string;
  readonly announcement: Announcement | undefined;
  readonly verdict: "alive" | "dead" | "unknown";
}

function readAnnouncements(home: string): ReadAnnouncement[] {
  const liveness = createLiveness();
  return fileNamesIn(runningFolder(home))
    .filter((name) => name.endsWith(".json"))
    .map((name) => {
      const path = join(runningFolder(home), name);
      const announcement = readAnnouncement(path);
      const verdict = announcement === undefined ? "dead" : liveness.isDead(announcement.holder);
      return { path, announcement, verdict };
    });
}

function fileNamesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readAnnouncement(path: string): Announcement | undefined {
  try {
    return announcementSchema.safeParse(JSON.parse(readFileSync(path, "utf8"))).data;
  } catch {
    return undefined;
  }
}

/** Whether a host of this home died without withdrawing: it was not stopped by anybody. */
export function hasDiedHost(home: string): boolean {
  return readAnnouncements(home).some(({ verdict }) => verdict === "dead");
}

const health = z.looseObject({ version: z.string(), status: z.string() });
const defaultTimeoutMs = 2_000;

/**
 * The newest host that serves this home. Its process must be proven alive, so that the token is never sent to another
 * program that now has the port, and it must answer.
 */
export async function findRunningHost(
  home: string,
  timeoutMs = defaultTimeoutMs,
): Promise<string | undefined> {
  const candidates = readAnnouncements(home)
    .flatMap(({ announcement, verdict }) =>
      announcement !== undefined && verdict === "alive" ? [announcement] : [],
    )
    .toSorted((a, b) => b.startedAt - a.startedAt);
  for (const { address } of candidates)
    if (await isHoldfastHost(address, timeoutMs)) return address;
  return undefined;
}

/** Whether any Holdfast host answers there. */
export async function isHoldfastHost(
  address: string,
  timeoutMs = defaultTimeoutMs,
): Promise<boolean> {
  try {
    const response = await fetch(`${address}health`, { signal: AbortSignal.timeout(timeoutMs) });
    return health.safeParse(await response.json()).success;
  } catch {
    return false;
  }
}
