import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { createCompactionLock } from "@holdfast/engine";
import { anEvent, toSeq } from "@holdfast/testing/fixtures/factories";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { TestSession, assertPresent } from "@holdfast/testing/fixtures/open-session";
import { describe, expect, onTestFinished, test } from "vitest";

import { databases } from "@holdfast/testing/databases/databases";
import type { SqlDatabase } from "@holdfast/testing/databases/sql-database";
import type { RawRow } from "@holdfast/testing/databases/store-address";
import { currentHolder } from "../src/identity.ts";

const folder = fileURLToPath(new URL("../fixtures/", import.meta.url));

const tableNames = {
  sqlite: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  postgres:
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()",
};

describe.each(databases)("an older database of $name", ({ name, create }) => {
  async function restore(fixture: string): Promise<SqlDatabase> {
    const database = await create();
    onTestFinished(() => database.drop());
    const { address } = database;
    if (address.kind === "sqlite") copyFileSync(`${folder}${fixture}`, address.file);
    else await database.query(readFileSync(`${folder}${fixture}`, "utf8"));
    return database;
  }

  async function allRows({ query }: SqlDatabase): Promise<ReadonlyMap<string, readonly RawRow[]>> {
    const tables = await query(tableNames[name]);
    const names = tables
      .map((row) => String(row["name"]))
      .filter((table) => !/migrations/.test(table));
    const rows = new Map<string, readonly RawRow[]>();
    for (const table of names.toSorted()) rows.set(table, await query(`SELECT * FROM ${table}`));
    return rows;
  }

  test("[S0.15] a database from before the leases gains the lock and loses nothing", async () => {
    const [fixture] = fixturesOf(name);
    const database = await restore(assertPresent(fixture));
    const before = await allRows(database);
    expect(before.has("leases")).toBe(false);
    expect(before.get("events")?.length).toBeGreaterThan(10);

    const store = await database.open();
    onTestFinished(() => store.close());
    const after = await allRows(database);
    expect(after.has("leases")).toBe(true);
    // A row may have new columns, but none is lost and no value has changed.
    for (const [table, rows] of before) {
      expect([table, after.get(table)]).toMatchObject([table, rows]);
      expect(after.get(table)).toHaveLength(rows.length);
    }
    expect(await fsckFindings(store)).toEqual([]);

    const row = assertPresent(
      before.get("sessions")?.find(({ trashed_at }) => trashed_at === null),
    );
    const session = await sessionOf(store, String(row["id"]));
    const lock = createCompactionLock(store.leases);
    const holder = currentHolder("newcomer");
    const { fence } = assertPresent(await lock.acquire(session.session, holder));
    expect(await lock.holder(session.session)).toEqual(holder);
    const { head, epoch } = await session.row();
    const covers = { from: toSeq(1), to: toSeq(2) };
    const data = { epoch: epoch + 1, covers, summary: "Hello was said." };
    const done = await session.commit([anEvent("context.compacted", data)], {
      under: { lease: "compaction", fence },
    });
    expect(done.first).toBe(head + 1);
  });

  test.each(fixturesOf(name))("%s opens, is sound and reads as it was written", async (fixture) => {
    const database = await restore(fixture);
    const before = await allRows(database);
    const store = await database.open();
    onTestFinished(() => store.close());
    expect(await fsckFindings(store)).toEqual([]);
    for (const row of assertPresent(before.get("sessions"))) {
      const session = await sessionOf(store, String(row["id"]));
      const { head, trashedAt } = await session.row();
      expect((await session.events()).at(-1)?.seq).toBe(head);
      expect(trashedAt === null).toBe(row["trashed_at"] === null);
      expect((await session.entries()).length).toBeGreaterThan(0);
    }
  });
});

function fixturesOf(kind: "sqlite" | "postgres"): readonly string[] {
  return readdirSync(folder)
    .filter((file) => /^(\w+)-\d{4}\./.exec(file)?.[1] === kind)
    .toSorted();
}

async function sessionOf(store: ConstructorParameters<typeof TestSession>[0], id: string) {
  for await (const { id: session, owner } of store.audit.sessions())
    if (session === id) return new TestSession(store, { owner, session });
  throw new Error(`There is no session ${id}.`);
}
