import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { runFsck } from "@holdfast/engine";
import { expect, onTestFinished, test } from "vitest";

import { connect } from "../connection.ts";
import { openSqliteStore } from "../store.ts";

/** Rows in this table outlive their session on purpose. */
const outliving = "purges";

test("[P14] a row of a missing session is found in every table with a session key", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-audit-"));
  const file = join(folder, "store.db");
  const store = await openSqliteStore({ file });
  const damager = connect({ file, access: "write" });
  onTestFinished(async () => {
    damager.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const tables = damager
    .sql(
      `SELECT t.name FROM pragma_table_list t JOIN pragma_table_info(t.name) c ON c.name = 'session_key'
        WHERE t.type = 'table' AND t.schema = 'main' ORDER BY t.name`,
    )
    .all()
    .map((row) => String(row["name"]))
    .filter((name) => name !== outliving);
  expect(tables).toContain("memory_tries");
  for (const table of tables) {
    const columns = damager.sql(`SELECT name, type FROM pragma_table_info('${table}')`).all();
    const values = columns.map(({ type }) => (String(type).startsWith("INT") ? "999" : "'x'"));
    damager.exec(`INSERT INTO ${table} VALUES (${values.join(", ")})`);
  }
  const orphans: string[] = [];
  for await (const { table } of store.audit.orphans()) orphans.push(table);
  expect(orphans.toSorted()).toEqual(tables);
  const { found } = await runFsck(store.audit, { now: await store.now() });
  const reported = found.filter(({ code }) => code === "row_orphaned");
  expect(reported.map(({ table }) => table).toSorted()).toEqual(tables);
});
