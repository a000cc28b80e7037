import { openPostgresStore } from "@holdfast/store/postgres";
import { Client } from "pg";
import { test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { expectSurface } from "./surface.ts";

/** Each query returns lines of text, without objects of PostgreSQL itself and of extensions. */
const questions = {
  columns: `
    SELECT format('column %s.%s: %s%s%s%s', table_name, column_name, udt_name,
      CASE is_nullable WHEN 'NO' THEN ', not null' ELSE '' END,
      CASE WHEN column_default IS NULL THEN '' ELSE ', default ' || column_default END,
      CASE is_generated WHEN 'ALWAYS' THEN ', generated' ELSE '' END) AS fact
    FROM information_schema.columns WHERE table_schema = current_schema()`,
  indexes: `
    SELECT format('index %s', replace(indexdef, schemaname || '.', '')) AS fact
    FROM pg_indexes WHERE schemaname = current_schema()`,
  constraints: `
    SELECT format('constraint %s.%s: %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS fact
    FROM pg_constraint
    WHERE connamespace = current_schema()::regnamespace AND contype <> 'n' AND conrelid <> 0`,
  sequences: `
    SELECT format('sequence %s', sequence_name) AS fact
    FROM information_schema.sequences WHERE sequence_schema = current_schema()`,
  triggers: `
    SELECT format('trigger %s.%s: %s %s', event_object_table, trigger_name, action_timing, event_manipulation) AS fact
    FROM information_schema.triggers WHERE trigger_schema = current_schema()`,
  functions: `
    SELECT format('function %s(%s)', proname, pg_get_function_identity_arguments(p.oid)) AS fact
    FROM pg_proc p WHERE pronamespace = current_schema()::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')`,
  extensions: `SELECT format('extension %s', extname) AS fact FROM pg_extension WHERE extname <> 'plpgsql'`,
  migrations: `SELECT format('migration %s %s', version, name) AS fact FROM holdfast_migrations`,
};

test("PostgreSQL keeps its tables, columns and indexes", async () => {
  await using database = await createDatabase();
  const store = await openPostgresStore({ url: database.url });
  await store.close();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    const facts: string[] = [];
    for (const question of Object.values(questions)) {
      const { rows } = await client.query<{ fact: string }>(question);
      facts.push(...rows.map(({ fact }) => fact));
    }
    expectSurface("postgres", facts);
  } finally {
    await client.end();
  }
});
