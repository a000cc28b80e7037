import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@holdfast/client";
import { type RunState, type Seq, type SessionId } from "@holdfast/protocol";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { startPoolingProxy } from "@holdfast/testing/postgres/pooling-proxy";
import { startPostgresProxy } from "@holdfast/testing/postgres/postgres-proxy";
import { startHost } from "@holdfast/testing/process/start-process";
import { Client as PostgresClient } from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import {
  countWords,
  followUntil,
  hasEnded,
  makeFolder,
  serveWithClient,
  settingsFor,
  textIn,
  valueOf,
} from "./served-host.ts";
import { shareStore } from "./shared-store.ts";

let database: Awaited<ReturnType<typeof createDatabase>>;
let admin: PostgresClient;
beforeAll(async () => {
  database = await createDatabase();
  admin = new PostgresClient({ connectionString: database.url });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await database[Symbol.asyncDispose]();
});

const serve = (store = database.url, settings: Record<string, string> = {}) =>
  serveWithClient({ HOLDFAST_STORE: store, ...settings });

async function until(client: Client, id: SessionId, state: RunState): Promise<void> {
  await followUntil(client, id, ({ run }) => run?.state === state);
}

async function begin(client: Client, text: string): Promise<SessionId> {
  const { session } = valueOf(await client.createSession({ body: {} }));
  await say(client, session.id, text, "first");
  return session.id;
}

const say = async (client: Client, id: SessionId, text: string, clientId: string) =>
  valueOf(await client.sendMessage({ params: { id }, body: { clientId, text } }));

/** Resolves when the first words of an answer are stored. */
async function untilShown(client: Client, id: SessionId): Promise<void> {
  for await (const item of client.follow(id, 0 as Seq))
    if (item.kind === "event" && item.event.type === "message.delta") return;
}

/** The answers of a session, and whatever else was shown. */
async function read(client: Client, id: SessionId) {
  const { entries, run } = valueOf(await client.readSession({ params: { id } }));
  const messages = entries.flatMap((entry) => (entry.type === "message" ? [entry] : []));
  return {
    run,
    asked: messages.filter(({ role }) => role === "user").map(textIn),
    words: messages
      .filter(({ role }) => role === "assistant")
      .map((entry) => countWords(textIn(entry))),
    tools: messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "tool_result" ? [part.output] : [])),
    ),
    notices: entries.flatMap((entry) => (entry.type === "notice" ? [entry.kind] : [])),
  };
}

async function lockWaiters(): Promise<number> {
  const { rowCount } = await admin.query(
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rowCount ?? 0;
}

test("[P7] an approval that one host asks for is answered on another, and holds there for the session", async () => {
  const [first, second] = [await serve(), await serve()];
  // A folder: an approval is bound to the content of the files that its command names.
  const command = "mkdir -p effects; mktemp effects/XXXXXX > /dev/null; ls effects | wc -l";
  const text = `{tool:terminal ${JSON.stringify({ command })}}`;
  const id = await begin(first.client, text);
  await until(first.client, id, "waiting");
  await first.host.kill();

  const [approval] = valueOf(await second.client.listApprovals()).approvals;
  const body = { decision: "session" as const };
  valueOf(await second.client.answerApproval({ params: { id: approval!.approvalId }, body }));
  await until(second.client, id, "completed");
  expect((await read(second.client, id)).tools).toEqual(["1\n"]);
  const folder = join("workspaces", id, "effects");
  expect(readdirSync(join(second.home, folder))).toHaveLength(1);
  expect(existsSync(join(first.home, folder))).toBe(false);

  await say(second.client, id, text, "second");
  await followUntil(second.client, id, hasEnded);
  expect((await read(second.client, id)).tools).toEqual(["1\n", "2\n"]);
});

test("while a host is frozen in a transaction, another accepts messages for its sessions, and no run is interrupted", async () => {
  const [frozen, other] = [await serve(), await serve()];
  const id = await begin(frozen.client, "{words:200}{rate:50}");
  await untilShown(frozen.client, id);
  const own = await begin(other.client, "{words:40}{rate:20}");
  await admin.query("BEGIN");
  await admin.query(`SELECT 1 FROM heads WHERE session_id = '${id}' FOR UPDATE`);
  await expect.poll(lockWaiters).toBe(1);
  frozen.host.signal("SIGSTOP");
  onTestFinished(() => frozen.host.signal("SIGCONT"));
  // From now on the frozen host has the lock.
  await admin.query("ROLLBACK");
  await say(other.client, id, "{words:3}", "second");
  await followUntil(other.client, own, hasEnded);
  expect(await read(other.client, own)).toMatchObject({ words: [40], notices: [] });

  frozen.host.signal("SIGCONT");
  await followUntil(other.client, id, hasEnded);
  expect(await read(other.client, id)).toMatchObject({ words: [200, 3], notices: [] });
});

test("a run survives a PostgreSQL outage that a renewal of its lease falls into", async () => {
  await using proxy = await startPostgresProxy(database.url);
  const leaseMs = 24_000;
  const { client } = await serve(proxy.url, { HOLDFAST_LEASE_MS: String(leaseMs) });
  // Longer than the lease: had it been given up, the run would have stopped.
  const id = await begin(client, "{words:1000}{rate:40}");
  await untilShown(client, id);
  /** How much of its lease the host has left. */
  const left = async (): Promise<number> => {
    const { rows } = await admin.query<{ left: string }>(
      `SELECT expires_at - extract(epoch FROM clock_timestamp()) * 1000 AS left
         FROM leases WHERE session_id = '${id}' AND kind = 'run'`,
    );
    return Number(rows[0]?.left) / leaseMs;
  };
  // It is renewed with two thirds left. Nobody waits for an answer that takes longer than a sixth.
  await expect.poll(left).toBeLessThan(0.75);
  proxy.set("refuse");
  await expect.poll(left).toBeLessThan(0.48);
  proxy.set("pass");
  await followUntil(client, id, hasEnded);
  expect(await read(client, id)).toMatchObject({
    words: [1000],
    notices: [],
    run: { state: "completed", attempt: 0 },
  });
});

test("[P1] a message gets an answer while PostgreSQL does not respond, and is stored once when it is sent again", async () => {
  await using proxy = await startPostgresProxy(database.url);
  const { client, address, token } = await serve(proxy.url);
  const id = await begin(client, "{words:2}");
  await followUntil(client, id, hasEnded);
  const send = () =>
    fetch(new URL(`api/sessions/${id}/messages`, address), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ clientId: "second", text: "{words:3}" }),
    });
  proxy.set("hold");
  const unanswered = await send();
  expect([unanswered.status, unanswered.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await unanswered.json()).toMatchObject({ code: "store_unknown" });
  proxy.set("pass");
  await expect.poll(async () => (await send()).status).toBe(202);
  await followUntil(client, id, hasEnded);
  await expect.poll(async () => (await read(client, id)).words).toEqual([2, 3]);
  expect((await read(client, id)).asked).toEqual(["{words:2}", "{words:3}"]);
});

test("a runner process is told of the messages that a web process accepts", async () => {
  const settings = {
    ...(await shareStore("postgres")),
    // It scans for work every 100 seconds.
    HOLDFAST_LEASE_MS: "600000",
  };
  const { client } = await serveWithClient({ ...settings, HOLDFAST_ROLES: "web" });
  const runner = startHost(["serve", "--roles", "runner"], {
    env: settingsFor({ ...settings, HOLDFAST_HOME: join(makeFolder(), "home") }),
  });
  await runner.line((text) => text.includes("/health"));
  const id = await begin(client, "{words:2}");
  await followUntil(client, id, hasEnded);
  await say(client, id, "{words:3}", "second");
  await followUntil(client, id, hasEnded);
  await expect.poll(async () => (await read(client, id)).words).toEqual([2, 3]);
});

test("a runner gets its work through a pooler that shares connections between transactions", async () => {
  await using proxy = await startPoolingProxy(database.url);
  const settings = {
    HOLDFAST_STORE: proxy.url,
    HOLDFAST_STORE_LISTEN_URL: database.url,
    // It scans for work every 100 seconds.
    HOLDFAST_LEASE_MS: "600000",
  };
  const { client } = await serveWithClient({ ...settings, HOLDFAST_ROLES: "web" });
  const runner = startHost(["serve", "--roles", "runner"], {
    env: settingsFor({ ...settings, HOLDFAST_HOME: join(makeFolder(), "home") }),
  });
  await runner.line((text) => text.includes("/health"));
  const id = await begin(client, "{words:2}");
  await followUntil(client, id, hasEnded);
  await say(client, id, "{words:3}", "second");
  await followUntil(client, id, hasEnded);
  await expect.poll(async () => (await read(client, id)).words).toEqual([2, 3]);
  expect(await proxy.sessionState()).toEqual([]);
});
