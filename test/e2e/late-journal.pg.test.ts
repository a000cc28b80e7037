import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Client, createClient } from "@holdfast/client";
import { type EntryView, type SessionId } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { startPostgresProxy } from "@holdfast/testing/postgres/postgres-proxy";
import { startHost } from "@holdfast/testing/process/start-process";
import { makeFolder, settingsFor } from "./served-host.ts";

/** A store that hosts share, and that can be taken away from them. */
interface SharedStore {
  readonly address: string;
  /** From now on nobody can write to it. Reads may go on. */
  readonly takeAway: () => void;
  readonly giveBack: () => void;
}

const stores = {
  async sqlite(): Promise<SharedStore> {
    const address = join(makeFolder(), "shared.db");
    let blocker: DatabaseSync | undefined;
    const giveBack = (): void => {
      blocker?.close();
      blocker = undefined;
    };
    onTestFinished(giveBack);
    return {
      address,
      takeAway() {
        blocker = new DatabaseSync(address, { timeout: 5_000 });
        blocker.exec("BEGIN IMMEDIATE");
      },
      giveBack,
    };
  },
  async postgres(): Promise<SharedStore> {
    const database = await createDatabase();
    const proxy = await startPostgresProxy(database.url);
    onTestFinished(async () => {
      await proxy[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    });
    return {
      address: proxy.url,
      takeAway: () => proxy.set("refuse"),
      giveBack: () => proxy.set("pass"),
    };
  },
};

/** A host scans for spill files every sixth of its lease. */
const longestLeaseMs = 600_000;

async function serve(
  home: string,
  store: SharedStore,
  leaseMs = 15_000,
  rest: Record<string, string> = {},
) {
  const settings = {
    ...rest,
    HOLDFAST_HOME: home,
    HOLDFAST_STORE: store.address,
    HOLDFAST_RESUME: "off",
    HOLDFAST_LEASE_MS: String(leaseMs),
  };
  const host = startHost(["serve"], { env: settingsFor(settings) });
  const line = await host.line((text) => text.startsWith("Holdfast is at "));
  const address = /^Holdfast is at ([^#\s]+)/.exec(line)?.[1] ?? "";
  const token = readFileSync(join(home, "token"), "utf8").trim();
  return { host, client: createClient({ baseUrl: address, token }) };
}

function valueOf<T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

const read = async (client: Client, id: SessionId) =>
  valueOf(await client.readSession({ params: { id } })).entries;

const wordsOf = (entries: readonly EntryView[]): string[] =>
  entries.flatMap((entry) =>
    entry.type === "message" && entry.role === "assistant"
      ? [entry.parts.map((part) => (part.type === "text" ? part.text : "")).join("")]
      : [],
  );

const noticesIn = (entries: readonly EntryView[]): string[] =>
  entries.flatMap((entry) => (entry.type === "notice" ? [entry.kind] : []));

const spillsIn = (home: string): string[] => {
  const folder = join(home, "spill");
  return readdirSync(folder)
    .filter((name) => name.endsWith(".spill"))
    .map((name) => join(folder, name));
};

const slow = { interval: 50 };

test.each(["sqlite", "postgres"] as const)(
  "[S4.3] [S4.7] %s: output that a host spilled before it was killed is added by the read that finds its file, which opens it once on a slow disk",
  async (kind) => {
    const store = await stores[kind]();
    const [first, second] = [join(makeFolder(), "first"), join(makeFolder(), "second")];
    const killed = await serve(first, store);
    const { session } = valueOf(await killed.client.createSession({ body: {} }));
    const { id } = session;
    const body = { clientId: "one", text: "{words:2000}{rate:60}" };
    valueOf(await killed.client.sendMessage({ params: { id }, body }));
    const watching = new AbortController();
    const codes: string[] = [];
    const shown: string[] = [];
    const watched = (async () => {
      for await (const item of killed.client.follow(id, session.head, {
        signal: watching.signal,
      })) {
        if (item.kind === "status") codes.push(item.status.code);
        const text = item.kind === "event" ? item.event.data["text"] : undefined;
        if (
          item.kind === "event" &&
          item.event.type === "message.delta" &&
          typeof text === "string"
        )
          shown.push(text);
      }
    })();
    await expect.poll(() => shown.join("").length, slow).toBeGreaterThan(20);

    store.takeAway();
    await expect.poll(() => spillsIn(first), slow).toHaveLength(1);
    await expect.poll(() => codes, slow).toContain("storing_locally");
    const [spill = ""] = spillsIn(first);
    expect(statSync(spill).mode & 0o777).toBe(0o600);
    const ends = () => readFileSync(spill).lastIndexOf("HFS1");
    const begun = ends();
    await expect.poll(ends, slow).toBeGreaterThan(begun + 200);
    await killed.host.kill();
    watching.abort();
    await watched;
    store.giveBack();

    // Another home, as on another machine: the first one's file isn't there. It scans too rarely to find it by itself.
    const gate = join(makeFolder(), "slow");
    const { client } = await serve(second, store, longestLeaseMs, {
      NODE_OPTIONS: `--import ${new URL("slow-spills.ts", import.meta.url).href}`,
      HOLDFAST_TEST_SLOW_SPILLS: gate,
    });
    await expect.poll(async () => noticesIn(await read(client, id)), slow).toEqual(["recovering"]);
    const before = wordsOf(await read(client, id)).join("");
    // P5: what was on a screen is stored, and nothing else was shown.
    expect(before.startsWith(shown.join(""))).toBe(true);

    // S4.3: on a slow disk one reader opens the file, and the others neither wait for it nor open it.
    writeFileSync(gate, "");
    const opened = () => readFileSync(gate, "utf8");
    mkdirSync(join(second, "spill"), { recursive: true });
    copyFileSync(spill, join(second, "spill", spill.slice(spill.lastIndexOf("/") + 1)));
    await expect
      .poll(async () => [noticesIn(await read(client, id)), opened()], slow)
      .toEqual([["recovering"], "opened\n"]);
    const readers = Array.from({ length: 20 }, async () => noticesIn(await read(client, id)));
    expect((await Promise.all(readers)).flat()).toEqual(Array(20).fill("recovering"));
    expect(opened()).toBe("opened\n");
    rmSync(gate);
    await expect.poll(async () => noticesIn(await read(client, id)), slow).toEqual(["recovered"]);
    const entries = await read(client, id);
    const [kept = "", found = ""] = wordsOf(entries);
    expect(kept).toBe(before);
    expect(found.length).toBeGreaterThan(0);
    expect(entries.at(-1)?.type).toBe("notice");
    // The file goes after the commit that brought its output in.
    await expect.poll(() => spillsIn(second), slow).toEqual([]);
    expect(wordsOf(await read(client, id))).toEqual([kept, found]);
  },
  120_000,
);

/** Two homes on one store: the first host streams an answer, and the second will take it over. */
async function streamInFirstHome(kind: keyof typeof stores) {
  const store = await stores[kind]();
  const [first, second] = [join(makeFolder(), "first"), join(makeFolder(), "second")];
  const streaming = await serve(first, store, 3_000);
  const { session } = valueOf(await streaming.client.createSession({ body: {} }));
  const { id } = session;
  const body = { clientId: "one", text: "{words:2000}{rate:60}" };
  valueOf(await streaming.client.sendMessage({ params: { id }, body }));
  const live = async () =>
    JSON.stringify(valueOf(await streaming.client.readSession({ params: { id } })).live);
  await expect.poll(async () => (await live()).length, slow).toBeGreaterThan(200);
  const takeOver = () => serve(second, store, 3_000);
  return { store, first, id, streaming, takeOver };
}

test.each(["sqlite", "postgres"] as const)(
  "[S4.10] %s: a host with another home does not wait for a host that was stopped",
  async (kind) => {
    const { id, streaming, takeOver } = await streamInFirstHome(kind);
    streaming.host.signal("SIGTERM");
    await streaming.host.exited;
    const { client } = await takeOver();
    await expect.poll(async () => noticesIn(await read(client, id)), slow).toEqual(["recovered"]);
  },
  60_000,
);

test.each(["sqlite", "postgres"] as const)(
  "[S4.10] [S4.12] %s: the wait for a killed host ends when its home comes back or when a person stops it",
  async (kind) => {
    const { store, first, id, streaming, takeOver } = await streamInFirstHome(kind);
    const { client: own } = streaming;
    const other = valueOf(await own.createSession({ body: {} })).session.id;
    const body = { clientId: "two", text: "{words:2000}{rate:60}" };
    valueOf(await own.sendMessage({ params: { id: other }, body }));
    const otherLive = async () =>
      JSON.stringify(valueOf(await own.readSession({ params: { id: other } })).live);
    await expect.poll(async () => (await otherLive()).length, slow).toBeGreaterThan(200);
    await streaming.host.kill();
    const { client } = await takeOver();
    const notices = async (session: SessionId) => noticesIn(await read(client, session));
    await expect.poll(() => notices(id), slow).toEqual(["recovering"]);
    await expect.poll(() => notices(other), slow).toEqual(["recovering"]);

    const stopped = valueOf(await client.stopWaiting({ params: { id: other }, body: {} }));
    expect(stopped.settled).toBe(1);
    expect([await notices(id), await notices(other)]).toEqual([
      ["recovering"],
      ["nothing_recovered"],
    ]);

    await serve(first, store, 3_000);
    await expect.poll(() => notices(id), slow).toEqual(["nothing_recovered"]);
  },
  120_000,
);
