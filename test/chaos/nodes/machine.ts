import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { type Client, createClient } from "@holdfast/client";
import { botToken } from "@holdfast/testing/telegram/fake-bot-api";

import { builtHost, compileCacheEnv } from "../built-host.ts";
import { askOverHttp, type ProcessEndpoint } from "../processes/endpoints.ts";
import type { History } from "../processes/history.ts";
import { ManagedProcess } from "../processes/managed-process.ts";
import { leaseMs } from "../processes/protocol.ts";
import { Link, type LinkMode } from "./links.ts";
import { hostPort, type machineNames, peerPort, postgresPort, telegramPort } from "./ports.ts";

export const token = "0123456789abcdef";

/** Longer than a proxy or a frozen database keeps anybody waiting. */
const answerTimeoutMs = 20_000;

const network = fileURLToPath(new URL("./machine-network.ts", import.meta.url));
const exitWithParent = new URL("../processes/exit-with-parent.ts", import.meta.url).href;

export interface MachineDeps {
  readonly folder: string;
  readonly history: History;
  readonly isTroubled: () => boolean;
  /** Where the primary is now. */
  readonly database: () => URL;
  readonly telegram: { readonly address: string };
  /** The address of the proxy. */
  readonly origin: string;
}

/** What a host may say while its database, its network or its bot's platform is away. */
const mayReport = [/"level":"(warn|error)"/];

/** A host on a machine of its own: network, processes, host name and home are nobody else's. */
export interface Machine extends ProcessEndpoint {
  readonly client: Client;
  readonly home: string;
  /** Where the machine is reached from outside. */
  readonly port: number;
  cut(what: "database" | "everything", mode: LinkMode): void;
  /** The ports of its connections, as the database sees them. */
  databasePorts(): number[];
  /** The database has moved: connections to the old one break. */
  resetDatabase(): void;
  isHealthy(): Promise<boolean>;
  close(): void;
}

export async function createMachine(
  name: (typeof machineNames)[number],
  deps: MachineDeps,
): Promise<Machine> {
  const { folder, history, database, telegram, origin } = deps;
  const own = join(folder, name);
  mkdirSync(own, { recursive: true });
  const home = join(own, "home");
  const postgres = new Link(() => Number(database().port));
  const platform = new Link(() => Number(new URL(telegram.address).port));
  const web = new Link(() => join(own, "web.sock"));
  await postgres.listen(join(own, "postgres.sock"));
  await platform.listen(join(own, "telegram.sock"));
  await web.listen(0);
  const peers = new Link(() => join(own, "web.sock"));
  await peers.listen(join(own, "peer.sock"));

  const store = new URL(database());
  store.port = String(postgresPort);
  const member = new ManagedProcess({
    ...deps,
    name,
    launch: () => ({
      command: "unshare",
      // prettier-ignore
      args: [
        "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts", "--net",
        "sh", "-c", boot, "sh", name, network, own, process.execPath, exitWithParent, builtHost,
      ],
      env: {
        ...compileCacheEnv(join(folder, "compiled")),
        CHAOS_FOLDER: folder,
        HOLDFAST_HOME: home,
        HOLDFAST_STORE: store.href,
        HOLDFAST_PORT: String(hostPort),
        HOLDFAST_TOKEN: token,
        HOLDFAST_ORIGIN: origin,
        HOLDFAST_INTERNAL_ADDRESS: `http://127.0.0.1:${peerPort(name)}`,
        HOLDFAST_SECRETS_KEY: "a-key-of-all-machines-".repeat(2),
        HOLDFAST_LEASE_MS: String(leaseMs),
        HOLDFAST_LOCAL_MODELS: "off",
        HOLDFAST_TELEGRAM_TOKEN: botToken,
        HOLDFAST_TELEGRAM_API_ROOT: `http://127.0.0.1:${telegramPort}`,
        HOLDFAST_TELEGRAM_ALLOW: "1,2,3",
      },
    }),
    isReady: (line) => line.startsWith("Holdfast is at "),
    hear: () => {},
    workerOf: childOf,
    mayReport,
  });
  const client = createClient({ baseUrl: `http://127.0.0.1:${web.port}/`, token });
  return {
    name,
    member,
    client,
    home,
    port: web.port,
    get isUp() {
      return member.isUp;
    },
    async ask(number, request) {
      const answer = await askOverHttp(client, request, AbortSignal.timeout(answerTimeoutMs));
      history.note({ kind: "answered", number, answer });
      return answer;
    },
    cut(what, mode) {
      postgres.set(mode);
      if (what === "database") return;
      platform.set(mode);
      web.set(mode);
      peers.set(mode);
    },
    databasePorts: () => postgres.farPorts,
    resetDatabase: () => postgres.reset(),
    async isHealthy() {
      try {
        const signal = AbortSignal.timeout(1_000);
        const response = await fetch(`http://127.0.0.1:${web.port}/health?ready`, { signal });
        await response.arrayBuffer();
        return response.ok;
      } catch {
        return false;
      }
    },
    close() {
      for (const link of [postgres, platform, web, peers]) link.close();
    },
  };
}

/**
 * The host becomes the first process of the machine: when it dies, everything on the machine does. It starts when the
 * machine has its network, whose last part is the socket that leads in.
 */
const boot = `
  hostname "$1" && ip link set lo up && rm -f "$3/web.sock" || exit 1
  "$4" "$2" "$3" < /dev/null > /dev/null 2>&1 &
  until [ -S "$3/web.sock" ]; do kill -0 $! || exit 1; sleep 0.02; done
  exec "$4" --import "$5" "$6" serve`;

/** The first process inside: signals to the one that holds the namespaces don't reach it. */
function childOf(pid: number): number | undefined {
  try {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
    return child === undefined || child === "" ? undefined : Number(child);
  } catch {
    return undefined;
  }
}
