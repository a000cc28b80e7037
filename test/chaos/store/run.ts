import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Store } from "@holdfast/engine";
import { anOwner } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";

import { startPostgres } from "@holdfast/testing/postgres/start-postgres";
import { compileCacheEnv } from "../built-host.ts";
import { type SeededRandom, seededRandom } from "@holdfast/testing/simulator/scheduler";
import type { ChaosResult } from "../report.ts";
import { Ledger } from "./ledger.ts";
import { type Backend, openStore, type WriterTask } from "./protocol.ts";
import { WriterProcess } from "./writer-process.ts";

export interface StoreChaosOptions {
  readonly backend: Backend;
  readonly kills: number;
  readonly seed: number;
  readonly writers?: number;
  readonly print?: (line: string) => void;
}

interface Place extends AsyncDisposable {
  readonly folder: string;
  readonly target: string;
}

async function createTarget(backend: Backend): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-chaos-"));
  const server = backend === "postgres" ? await startPostgres() : undefined;
  return {
    folder,
    target: server?.url ?? join(folder, "store.db"),
    async [Symbol.asyncDispose]() {
      await server?.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function makeSessions(
  store: Store,
): Promise<Pick<WriterTask, "owner" | "shared" | "contested">> {
  const owner = anOwner();
  const sessions = await Promise.all(
    Array.from({ length: 6 }, () => openTestSession(store, {}, owner)),
  );
  const ids = sessions.map(({ session }) => session);
  return { owner, shared: ids.slice(0, 4), contested: ids.slice(4) };
}

/**
 * Real processes write to one store while they are killed, paused and continued at random. Afterwards everything that
 * any of them was told is checked.
 */
export async function runStoreChaos(options: StoreChaosOptions): Promise<ChaosResult> {
  const { backend, kills, seed, writers: count = 3 } = options;
  const startedAt = performance.now();
  const chance = seededRandom(seed);
  const ledger = new Ledger();
  await using target = await createTarget(backend);
  const first = await openStore(backend, target.target);
  const sessions = await makeSessions(first);
  await first.close();

  const task = { backend, target: target.target, ...sessions };
  const writers = Array.from(
    { length: count },
    () =>
      new WriterProcess({
        task,
        ledger,
        compiled: compileCacheEnv(join(target.folder, "compiled")),
      }),
  );
  let acknowledgements;
  try {
    await writers[0]?.warmUp();
    acknowledgements = await injectFaults({ ...options, chance, writers });
  } finally {
    await Promise.all(writers.map((writer) => writer.kill()));
  }

  const store = await openStore(backend, target.target);
  try {
    // Unanswered commits are sent once more: each is stored once, whether it was before or not.
    for (const writer of writers) await writer.resendUnanswered(store);
    const { problems, events } = await ledger.check(store, sessions.owner, [
      ...sessions.shared,
      ...sessions.contested,
    ]);
    const { counts } = ledger;
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    const figures = {
      "kill -9": acknowledgements.kills,
      "of all processes at once": acknowledgements.massacres,
      "SIGSTOP and SIGCONT": acknowledgements.pauses,
      "commits acknowledged": ledger.acknowledged.length,
      "of them found on a second sending": ledger.acknowledged.filter((item) => item.repeated)
        .length,
      "refused to a late holder (fenced)": counts["refused fenced"] ?? 0,
      "runs taken over": counts["took over"] ?? 0,
      "branches made while their origin was purged": ledger.branches.size,
      "branches refused because it was gone": counts["refused branch: session_not_found"] ?? 0,
      "sessions purged": ledger.purged.size,
      "failures answered and sent again": sumOf(counts, "failed "),
      "events that fsck accounted for": events,
      "lost, doubled, misplaced or unsound": problems.length,
      seconds,
    };
    const command = `npm run chaos -- store --backend ${backend} --kills ${kills} --seed ${seed}`;
    return { command, figures, problems };
  } finally {
    await store.close();
  }
}

function sumOf(counts: Readonly<Record<string, number>>, prefix: string): number {
  const matching = Object.entries(counts).filter(([name]) => name.startsWith(prefix));
  return matching.reduce((sum, [, count]) => sum + count, 0);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface FaultInjection extends Pick<StoreChaosOptions, "kills" | "print"> {
  readonly chance: SeededRandom;
  readonly writers: readonly WriterProcess[];
}

async function injectFaults({ kills, chance, writers, print = () => {} }: FaultInjection) {
  const acknowledgements = { kills: 0, massacres: 0, pauses: 0 };
  for (const writer of writers) writer.start(chance.between(1, 1e9));
  await Promise.all(writers.map((writer) => writer.ready));
  while (acknowledgements.kills < kills) {
    const dice = chance.next();
    const victim = chance.pick(writers);
    // Sometimes a process dies while it is still starting.
    if (dice > 0.2) await victim.ready;
    await pause(chance.between(0, 250));
    if (dice < 0.15) {
      // Sometimes for longer than a lease: then another process takes over, and this one wakes up late.
      victim.signal("SIGSTOP");
      await pause(chance.pick([50, 300, 2_000]));
      victim.signal("SIGCONT");
      acknowledgements.pauses += 1;
      continue;
    }
    const victims = dice > 0.92 ? writers : [victim];
    await Promise.all(victims.map((item) => item.kill()));
    for (const item of victims) item.start(chance.between(1, 1e9));
    if (victims.length > 1) acknowledgements.massacres += 1;
    const before = acknowledgements.kills;
    acknowledgements.kills += victims.length;
    if (Math.floor(before / 20) !== Math.floor(acknowledgements.kills / 20))
      print(`${acknowledgements.kills} of ${kills} kills`);
  }
  return acknowledgements;
}
