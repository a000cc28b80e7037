import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

import { runFsck } from "@holdfast/engine";
import { openSqliteStore } from "@holdfast/store";
import { seededRandom } from "@holdfast/testing/simulator/scheduler";
import { FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";

import { ensureBuilt } from "../chaos/built-host.ts";
import {
  type GatewayHost,
  type GatewayHostOptions,
  startGatewayHost,
} from "../chaos/gateway/host.ts";
import { settled } from "../chaos/gateway/run.ts";
import {
  compareThirds,
  describeGrowth,
  type HostFootprint,
  median,
  type SoakFigure,
  type SoakRow,
  type SoakSample,
} from "./judge.ts";
import { TrafficWorker } from "./traffic.ts";

export interface SoakOptions {
  readonly seconds: number;
  /** After each round, once nothing is running, the host is measured. */
  readonly rounds: number;
  readonly seed: number;
  readonly workers?: number;
  readonly extraSlack?: Partial<Record<SoakFigure, number>>;
  readonly print?: (line: string) => void;
}

export interface SoakResult {
  readonly rows: readonly SoakRow[];
  readonly samples: readonly SoakSample[];
  readonly counts: Readonly<Record<string, number>>;
  readonly kills: number;
  readonly problems: readonly string[];
}

/** The measured host is started as people start it: `serve` limits its memory when it begins. */
const program = "packages/host/bin/holdfast.mjs";
const nodeFlags = ["--expose-gc", "--import", new URL("./probe.ts", import.meta.url).href];

/**
 * Mixed traffic on two hosts with one home. One is killed in every round; the other survives, takes over its runs, and
 * must hold no more in the last third of the rounds than in the first.
 */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const { seconds, rounds, seed, workers: count = 4, print = () => {} } = options;
  ensureBuilt();
  const folder = mkdtempSync(join(tmpdir(), "holdfast-soak-"));
  const home = join(folder, "home");
  const platform = new FakeBotApi();
  await platform.start();
  const hosts = new Set<GatewayHost>();
  const start = async (how: GatewayHostOptions = {}) => {
    const host = await startGatewayHost(home, platform, how);
    hosts.add(host);
    return host;
  };
  try {
    const footprint = join(folder, "footprint.json");
    const env = { SOAK_FOOTPRINT_FILE: footprint };
    const steady = await start({ program, nodeFlags, env });
    let other = await start();
    const workers = Array.from(
      { length: count },
      (_, index) =>
        new TrafficWorker({
          steady: steady.client,
          other: () => other.client,
          platform,
          chance: seededRandom(seed + index),
        }),
    );
    const samples: SoakSample[] = [];
    // The first round fills caches and warms up the JIT, and is not counted.
    for (let round = 0; round <= rounds; round += 1) {
      const over = AbortSignal.timeout(Math.ceil((seconds * 1000) / (rounds + 1)));
      const working = Promise.all(workers.map((worker) => worker.workUntil(over)));
      await other.kill();
      hosts.delete(other);
      other = await start();
      await working;
      await settled(steady, platform);
      const sample = { ...(await measure(steady, footprint)), ...latencies(workers) };
      if (round > 0) samples.push(sample);
      print(`${round} of ${rounds}: ${describe(sample)}`);
    }
    for (const host of hosts) await host.kill();
    const rows = compareThirds(samples, options.extraSlack);
    const problems = [...workers.flatMap((worker) => worker.problems), ...(await check(home))];
    return {
      rows,
      samples,
      counts: sum(workers),
      kills: rounds + 1,
      problems: [...problems, ...describeGrowth(rows)],
    };
  } finally {
    for (const host of hosts) await host.kill();
    await platform.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure({ process: child }: GatewayHost, file: string): Promise<HostFootprint> {
  child.kill("SIGUSR2");
  while (!existsSync(file)) await setTimeout(20);
  const held = JSON.parse(readFileSync(file, "utf8")) as HostFootprint;
  rmSync(file);
  return held;
}

/** The round's medians. Resets the workers for the next round. */
function latencies(workers: readonly TrafficWorker[]): Pick<SoakSample, "acceptMs" | "searchMs"> {
  const acceptMs = median(workers.flatMap((worker) => worker.acceptMs));
  const searchMs = median(workers.flatMap((worker) => worker.searchMs));
  for (const worker of workers) {
    worker.acceptMs = [];
    worker.searchMs = [];
  }
  return { acceptMs, searchMs };
}

function sum(workers: readonly TrafficWorker[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const worker of workers)
    for (const [kind, times] of Object.entries(worker.counts))
      counts[kind] = (counts[kind] ?? 0) + times;
  return counts;
}

const describe = (sample: SoakSample): string =>
  Object.entries(sample)
    .map(([name, value]) => `${name} ${Number(value).toFixed(1)}`)
    .join(", ");

async function check(home: string): Promise<readonly string[]> {
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  try {
    const { found } = await runFsck(store.audit, { now: await store.now() });
    return found.map(({ code, key, message }) => `fsck: ${code} ${key}: ${message}`);
  } finally {
    await store.close();
  }
}
