import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { readUpgradeFacts } from "@holdfast/store/postgres";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { startHost } from "@holdfast/testing/process/start-process";
import { Client } from "pg";
import { expect, test } from "vitest";
import { makeFolder, serveWithClient, settingsFor } from "./served-host.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const fixture = (name: string): string => join(repository, "packages/store/fixtures", name);

async function holdfast(args: readonly string[], settings: Record<string, string>) {
  const command = startHost(args, { env: settingsFor(settings) });
  const { code } = await command.exited;
  return { status: code, stdout: command.stdout() };
}

interface Finding {
  readonly what: string;
  readonly state: string;
  readonly words: string;
}

async function check(settings: Record<string, string>) {
  const { status, stdout } = await holdfast(["upgrade-check", "--json"], settings);
  const findings = JSON.parse(stdout) as readonly Finding[];
  const found = (what: string) => findings.find((finding) => finding.what === what);
  return { status, found };
}

function schemaOf(file: string): unknown {
  const database = new DatabaseSync(file, { readOnly: true });
  const version = database.prepare("PRAGMA user_version").get()?.["user_version"];
  database.close();
  return version;
}

test("before an upgrade on SQLite, a missing backup and unknown settings are named, and the store is left alone", async () => {
  const folder = makeFolder();
  const [old, copy] = [join(folder, "old"), join(folder, "copy")];
  for (const home of [old, copy]) {
    mkdirSync(home);
    cpSync(fixture("sqlite-0012.db"), join(home, "holdfast.db"));
  }
  const settings = { HOLDFAST_HOME: old };
  expect((await check({ HOLDFAST_HOME: join(folder, "none") })).found("Schema")?.words).toContain(
    "no store",
  );

  const first = await check(settings);
  expect(first.status).toBe(1);
  expect(first.found("Schema")?.words).toMatch(
    /^schema 12; .*13 \(alternatives\).*14 \(session persona\)/,
  );
  expect(first.found("Backup")?.state).toBe("bad");
  expect(first.found("Next")?.words).toContain("✗");

  // The older version makes it; here, this one does on a copy.
  expect((await holdfast(["backup"], { HOLDFAST_HOME: copy })).status).toBe(0);
  cpSync(join(copy, "backups"), join(old, "backups"), { recursive: true });
  const second = await check({ ...settings, HOLDFAST_MODLE: "rehearsal" });
  expect([second.status, second.found("Backup")?.state]).toEqual([0, "good"]);
  expect(second.found("Variables")?.state).toBe("care");
  expect(second.found("Variables")?.words).toMatch(/^HOLDFAST_MODLE .*HOLDFAST_MODEL/);
  expect(second.found("Next")?.words).toContain("migrates the store");

  writeFileSync(join(old, "config.json"), JSON.stringify({ modle: "rehearsal" }));
  const third = await check(settings);
  expect([third.status, third.found("Settings")?.state]).toEqual([1, "bad"]);
  expect(schemaOf(join(old, "holdfast.db"))).toBe(12);
  expect((await check({ HOLDFAST_HOME: copy })).found("Schema")?.words).toContain(
    "as this version uses it",
  );
}, 240_000);

test("before an upgrade on PostgreSQL, it is said what would run, beside which hosts, and which are connected", async () => {
  await using database = await createDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query(readFileSync(fixture("postgres-0013.sql"), "utf8"));
    await client.query("SET search_path TO DEFAULT");
    const settings = { HOLDFAST_HOME: makeFolder(), HOLDFAST_STORE: database.url };
    const old = await check(settings);
    expect(old.found("Schema")?.words).toMatch(/^schema 13; .*14 \(session persona\)/);
    expect(old.found("Side by side")).toMatchObject({ state: "care" });
    expect(old.found("Hosts")?.words).toContain("no host");

    await serveWithClient({ HOLDFAST_STORE: database.url });
    const current = await check(settings);
    expect(current.found("Schema")?.words).toContain("as this version uses it");
    expect(current.found("Hosts")?.words).toMatch(/^1 host is connected/);
    expect(current.found("Next")?.words).toContain("nothing to migrate");

    await client.query("BEGIN");
    const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    expect((await readUpgradeFacts({ url: database.url })).longest?.pid).toBe(rows[0]?.pid);
    await client.query("COMMIT");

    // What a much newer version would leave, that says which hosts may go on.
    await client.query(
      "INSERT INTO holdfast_migrations (version, name, oldest_host) VALUES (90, 'later', 13)",
    );
    const usable = await check(settings);
    expect([usable.status, usable.found("Schema")?.state]).toEqual([0, "care"]);
    await client.query("UPDATE holdfast_migrations SET oldest_host = 90 WHERE version = 90");
    const tooNew = await check(settings);
    expect([tooNew.status, tooNew.found("Schema")?.state]).toEqual([1, "bad"]);
  } finally {
    await client.end();
  }
}, 240_000);
