import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import type { StoreAddress } from "../store/bench-database.ts";

/** As long as the one that a host makes for itself: attempts with a shorter one are counted. */
export const token = "a-token-for-this-run-as-long-as-a-generated-one";

/** The host as people start it, in its own process. */
export interface ServedHost extends AsyncDisposable {
  readonly address: string;
  /** From the start of the process to its first healthy answer. */
  readonly healthyMs: number;
  cpuMs(): number;
  /** Of its processes that have ended. */
  childrenCpuMs(): number;
  /** Its resident memory, in bytes. */
  memory(): number;
}

export async function startHost(
  store: StoreAddress,
  home: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<ServedHost> {
  const bin = fileURLToPath(new URL("../../packages/host/bin/holdfast.mjs", import.meta.url));
  const startedAt = performance.now();
  const child = spawn(process.execPath, [bin, "serve"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      HOLDFAST_HOME: home,
      HOLDFAST_PORT: "0",
      HOLDFAST_TOKEN: token,
      HOLDFAST_STORE: store.kind === "sqlite" ? store.file : store.url,
      ...settings,
    },
  });
  const exited = once(child, "exit");
  const address = await Promise.race([addressOf(child), exited.then(() => undefined)]);
  if (address === undefined) throw new Error("The host did not start.");
  const health = await fetch(new URL("health", address));
  await health.arrayBuffer();
  if (!health.ok) throw new Error(`The host is not healthy: ${health.status}.`);
  return {
    address,
    healthyMs: performance.now() - startedAt,
    cpuMs: () => cpuMsOf(child),
    childrenCpuMs: () => childrenCpuMsOf(child),
    memory: () => memoryOf(child),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

async function addressOf(child: ChildProcess): Promise<string | undefined> {
  if (child.stdout === null) return undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    // Without a page there is no link to sign in with, and the health is named.
    const address = /http:\S+?(?=#|health$)/.exec(line)?.[0];
    if (address !== undefined) return address;
  }
  return undefined;
}

const msPerTick = 10;

/** Unknown where the system doesn't tell. */
export function cpuMsOf(child: ChildProcess): number {
  return ticksOf(child, [11, 12]) * msPerTick;
}

function childrenCpuMsOf(child: ChildProcess): number {
  return ticksOf(child, [13, 14]) * msPerTick;
}

function ticksOf(child: ChildProcess, places: readonly number[]): number {
  const stat = readProc(child, "stat");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return places.reduce((sum, place) => sum + Number(fields[place]), 0);
}

/** Its resident memory, in bytes. */
export function memoryOf(child: ChildProcess): number {
  return Number(/^VmRSS:\s*(\d+) kB/m.exec(readProc(child, "status"))?.[1]) * 1024;
}

function readProc(child: ChildProcess, file: string): string {
  try {
    return readFileSync(`/proc/${child.pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
