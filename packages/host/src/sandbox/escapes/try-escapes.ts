import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { runCommand } from "../run-command.ts";
import {
  type EscapeCase,
  escapeCases,
  type EscapeTargets,
  removeTraces,
  triedMark,
} from "./escape-cases.ts";

export interface EscapeResult {
  readonly id: string;
  readonly words: string;
  readonly outcome: "held" | "escaped" | "untried";
}

export interface EscapeSettings {
  readonly home: string;
  readonly personHome: string;
  readonly path: string;
  /** The workspace in which `run` runs commands. */
  readonly workspace: string;
  readonly beyond: EscapeTargets["beyond"];
  /** Runs a command confined, and answers with its output. */
  readonly run: (argv: readonly [string, ...string[]]) => Promise<string>;
}

/** Sets up what must not be reached, tries each way out, and takes it all down again. */
export async function tryEscapes(
  settings: EscapeSettings,
  onResult: (result: EscapeResult) => void = () => undefined,
): Promise<readonly EscapeResult[]> {
  const setup = await setUp(settings);
  const results: EscapeResult[] = [];
  try {
    for (const escape of escapeCases) {
      const { id, words } = escape;
      const result = { id, words, outcome: await attempt(escape, setup, settings) };
      results.push(result);
      onResult(result);
    }
  } finally {
    await setup.close();
  }
  return results;
}

type Setup = EscapeTargets & { close(): Promise<void> };

async function attempt(
  escape: EscapeCase,
  targets: Setup,
  { run }: EscapeSettings,
): Promise<EscapeResult["outcome"]> {
  const output = await run(escape.attempt(targets));
  if (output.includes(targets.canary) || escape.hasEscaped?.(targets, output) === true)
    return "escaped";
  return output.includes(triedMark) ? "held" : "untried";
}

async function setUp(settings: EscapeSettings): Promise<Setup> {
  const { home, personHome, path, workspace, beyond } = settings;
  const canary = randomBytes(12).toString("hex");
  const closing: (() => unknown)[] = [];
  const folder = await mkdtemp(join(tmpdir(), "hf-"));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  const plant = async (file: string): Promise<string> => {
    await mkdir(join(file, ".."), { recursive: true, mode: 0o700 });
    await writeFile(file, `${canary}\n`, { mode: 0o600 });
    closing.push(() => rm(file, { force: true }));
    return file;
  };
  const serve = async (at: string | number): Promise<Server> => {
    const server = createServer((socket) => void socket.on("error", () => undefined).end(canary));
    server.listen(typeof at === "string" ? { path: at } : { port: at, host: "127.0.0.1" });
    closing.push(() => server.close());
    await once(server, "listening");
    return server;
  };
  const other = join(home, "workspaces", `escape-${canary.slice(0, 8)}`);
  closing.push(() => rm(other, { recursive: true, force: true }));
  const targets = {
    canary,
    workspace,
    holdfastFile: await plant(join(home, "sandbox", "canary")),
    otherWorkspaceFile: await plant(join(other, "secret")),
    personFile: await plant(join(personHome, `.holdfast-escape-${canary.slice(0, 8)}`)),
    personHome,
    abstractName: `holdfast-${canary.slice(0, 8)}`,
    socketPath: join(folder, "host.sock"),
    programFolders: path.split(":").filter((entry) => entry.startsWith("/")),
    node: process.execPath,
    beyond,
  };
  const loopback = (await serve(0)).address();
  // Only Linux has sockets without a file.
  if (process.platform === "linux") await serve(`\0${targets.abstractName}`);
  await serve(targets.socketPath);
  const victim = await startVictim(canary);
  closing.push(() => victim.stop());
  const setup: Setup = {
    ...targets,
    loopbackPort: typeof loopback === "object" ? (loopback?.port ?? 0) : 0,
    victimPid: victim.pid,
    isVictimAlive: victim.isAlive,
    async close() {
      removeTraces(setup);
      for (const end of closing.toReversed()) await end();
    },
  };
  return setup;
}

/** A stopped process counts as ended, and so does one that nobody has waited for yet. */
function isRunning(pid: number): boolean {
  try {
    return /^\d+ \(.*\) [RSD]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** A process like the host's own: unconfined, of the same user. */
async function startVictim(canary: string) {
  const stopping = new AbortController();
  const started = Promise.withResolvers<number>();
  const ended = runCommand({
    argv: ["/bin/sleep", "600"],
    folder: "/",
    environment: { HOLDFAST_ESCAPE_SECRET: canary },
    timeLimitMs: 600_000,
    signal: stopping.signal,
    onStart: (pid) => started.resolve(pid),
  });
  const pid = await started.promise;
  return {
    pid,
    isAlive: () => isRunning(pid),
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}
