import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLiveness, currentHolder } from "@holdfast/store/identity";
import { z } from "zod";

/** What a host that serves says about itself in its home. */
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
 * Leaves word of a host for those who come to its home, and answers how to take it back. Each process has a file of its
 * own, so two hosts on one home do not take each other's away. A home that takes no word costs nothing but the finding.
 */
export function announceHost(home: string, address: string): () => void {
  const path = join(runningFolder(home), `${process.pid}.json`);
  const told: Announcement = {
    address,
    startedAt: Date.now(),
    holder: currentHolder("serve"),
  };
  try {
    mkdirSync(runningFolder(home), { recursive: true, mode: 0o700 });
    for (const { path: other, verdict } of readAnnouncements(home))
      if (verdict === "dead") rmSync(other, { force: true });
    const draft = `${path}.new`;
    writeFileSync(draft, JSON.stringify(told), { mode: 0o600 });
    renameSync(draft, path);
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

const health = z.looseObject({ version: z.string(), status: z.string() });
const defaultTimeoutMs = 2_000;

/**
 * The newest host that serves this home. Its process must be proven alive, so that the token is never shown to a
 * stranger who has the port today, and it must answer.
 */
export async function findRunningHost(
  home: string,
  patienceMs = defaultTimeoutMs,
): Promise<string | undefined> {
  const living = readAnnouncements(home)
    .flatMap(({ announcement: told, verdict }) =>
      told !== undefined && verdict === "alive" ? [told] : [],
    )
    .toSorted((a, b) => b.startedAt - a.startedAt);
  for (const { address } of living) if (await isHoldfastHost(address, patienceMs)) return address;
  return undefined;
}

/** Whether a host answers there, whoever's it is. */
export async function isHoldfastHost(
  address: string,
  patienceMs = defaultTimeoutMs,
): Promise<boolean> {
  try {
    const response = await fetch(`${address}health`, { signal: AbortSignal.timeout(patienceMs) });
    return health.safeParse(await response.json()).success;
  } catch {
    return false;
  }
}
