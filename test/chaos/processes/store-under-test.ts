import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";

import { startPostgres } from "@holdfast/testing/postgres/start-postgres";
import { startPostgresProxy } from "@holdfast/testing/postgres/postgres-proxy";
import type { Backend } from "../store/protocol.ts";

/** Where the store is, and what can be done to it. */
export interface StoreUnderTest extends AsyncDisposable {
  readonly folder: string;
  readonly target: string;
  /** During a fault a starting process may not reach the store. */
  readonly faults: readonly StoreFault[];
}

export interface StoreFault {
  readonly name:
    | "database restart"
    | "database crash"
    | "connections cut"
    | "connection cut at a commit"
    | "disk full";
  /** Resolves when it is over. */
  inject(ms: number): Promise<void>;
}

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export function createStoreUnderTest(backend: Backend): Promise<StoreUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-chaos-"));
  return backend === "sqlite" ? makeDisk(folder) : makeDatabase(folder);
}

const diskSize = 256 * 1024 * 1024;

/** A small disk for the store, where mounting one is allowed; otherwise a folder that can't be filled. */
async function makeDisk(folder: string): Promise<StoreUnderTest> {
  const disk = join(folder, "disk");
  mkdirSync(disk);
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${diskSize}`, "tmpfs", disk]);
  const isMounted = mounted.status === 0;
  const filler = join(disk, "filler");
  const fill: StoreFault = {
    name: "disk full",
    async inject(ms) {
      fillWith(filler);
      await rest(ms);
      rmSync(filler);
    },
  };
  return {
    folder,
    target: join(disk, "store.db"),
    faults: isMounted ? [fill] : [],
    [Symbol.asyncDispose]: cleanUpWhenLeft(folder, disk),
  };
}

/** Removes the disk when told to, and also when its creator is killed: then the pipe ends. */
function cleanUpWhenLeft(folder: string, disk: string): () => Promise<void> {
  const script = 'cat > /dev/null; umount -l "$1"; rm -rf "$2"';
  const keeper = spawn("sh", ["-c", script, "sh", disk, folder], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  const done = once(keeper, "close");
  return async () => {
    keeper.stdin.end();
    await done;
  };
}

/** Takes all the space there is, to the last byte. */
function fillWith(file: string): void {
  const descriptor = openSync(file, "w");
  try {
    for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 2)) {
      const piece = Buffer.alloc(size);
      while (writesWhole(descriptor, piece));
    }
  } finally {
    closeSync(descriptor);
  }
}

function writesWhole(descriptor: number, piece: Buffer): boolean {
  try {
    return writeSync(descriptor, piece) === piece.length;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOSPC") return false;
    throw error;
  }
}

/** Its own PostgreSQL, behind a proxy that cuts connections. */
async function makeDatabase(folder: string): Promise<StoreUnderTest> {
  const server = await startPostgres();
  const proxy = await startPostgresProxy(server.url);
  const cut: StoreFault = {
    name: "connections cut",
    async inject(ms) {
      proxy.set("refuse");
      await rest(ms);
      proxy.set("pass");
    },
  };
  const cutAtCommit = (mode: "cut before commit" | "cut after commit"): StoreFault => ({
    name: "connection cut at a commit",
    async inject(ms) {
      proxy.set(mode);
      for (let left = ms; left > 0 && proxy.mode !== "pass"; left -= 20) await rest(20);
      proxy.set("pass");
    },
  });
  const restart = (mode: "fast" | "immediate"): StoreFault => ({
    name: "database restart",
    inject: () => server.restart(mode),
  });
  const crash: StoreFault = { name: "database crash", inject: () => killBackend(server.url) };
  return {
    folder,
    target: proxy.url,
    faults: [
      cut,
      cutAtCommit("cut before commit"),
      cutAtCommit("cut after commit"),
      restart("fast"),
      restart("immediate"),
      crash,
    ],
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Killing a backend takes the whole server down: every connection breaks, and the server recovers its log. */
async function killBackend(url: string): Promise<void> {
  const victim = new Client({ connectionString: url });
  victim.on("error", () => undefined);
  const gone = new Promise((resolve) => victim.once("end", resolve));
  await victim.connect();
  const { rows } = await victim.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  process.kill(rows[0]!.pid, "SIGKILL");
  await gone;
}
