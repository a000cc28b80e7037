import { createDatabase } from "@holdfast/testing/postgres/create-database";
import type { ClientBase } from "pg";
import { expect, onTestFinished, test } from "vitest";

import {
  connectForLeases,
  connectForMigrations,
  connectListener,
  connectWriter,
  createReaderPool,
} from "./connection.ts";
import { withDefaults } from "./settings.ts";

test("on every connection the server looks for a lost host within half a minute", async () => {
  const database = await createDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const defaults = withDefaults({ url: database.url });
  const pool = createReaderPool(defaults);
  onTestFinished(() => pool.end());
  async function check(role: string, client: ClientBase): Promise<void> {
    const { rows } = await client.query(
      "SELECT name, setting FROM pg_settings WHERE name LIKE 'tcp\\_%' ORDER BY name",
    );
    const settings = rows.map(({ name, setting }) => `${name} ${setting}`);
    expect([role, ...settings]).toEqual([
      role,
      "tcp_keepalives_count 3",
      "tcp_keepalives_idle 10",
      "tcp_keepalives_interval 5",
      "tcp_user_timeout 25000",
    ]);
  }
  for (const connect of [connectWriter, connectForLeases, connectListener, connectForMigrations]) {
    const client = await connect(defaults);
    onTestFinished(() => client.end());
    await check(connect.name, client);
  }
  const reader = await pool.connect();
  try {
    await check("reader", reader);
  } finally {
    reader.release();
  }
});
