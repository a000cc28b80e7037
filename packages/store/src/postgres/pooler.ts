import { Client, type ClientConfig } from "pg";
import { OpenFailure } from "../shared/open-failure.ts";

/** How often it looks whether a connection gets another server connection. */
const attempts = 3;

async function serverPid(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  return Number(rows[0]?.pid);
}

/** The process that a connection was told about when it began. Whatever is in between announces a number of its own. */
function announcedPid(client: Client): unknown {
  return "processID" in client ? client.processID : undefined;
}

/**
 * Whether the address leads to a pooler that shares server connections between transactions. There a session means
 * nothing: what it listens to is lost, without an error.
 */
export async function leadsToPooler(config: ClientConfig): Promise<boolean> {
  const [first, second] = [new Client(config), new Client(config)];
  for (const client of [first, second]) client.on("error", () => undefined);
  try {
    await first.connect();
    const pid = await serverPid(first);
    if (pid === announcedPid(first)) return false;
    await second.connect();
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      // While the second one keeps its server connection, the first one cannot get the same.
      await second.query("BEGIN");
      const taken = await serverPid(second);
      const now = await serverPid(first);
      await second.query("ROLLBACK");
      if (taken === pid || now !== pid) return true;
    }
    return false;
  } catch (error) {
    if (isRefusedByPooler(error)) return true;
    throw error;
  } finally {
    await Promise.allSettled([first.end(), second.end()]);
  }
}

/** PgBouncer refuses parameters that it would have to set on each server connection. */
export function isRefusedByPooler(error: unknown): boolean {
  return error instanceof Error && /unsupported startup parameter/i.test(error.message);
}

export function pooledFailure(setting: "url" | "listenUrl"): OpenFailure {
  const what =
    setting === "url"
      ? "The store's address leads to a pooler that shares server connections between transactions (like PgBouncer " +
        "in transaction mode). Holdfast needs one connection to the server itself"
      : "The address for listening also leads to a pooler that shares server connections between transactions";
  return new OpenFailure(
    "store_pooled",
    `${what}: set HOLDFAST_STORE_LISTEN_URL to the address of the PostgreSQL server behind it.`,
  );
}
