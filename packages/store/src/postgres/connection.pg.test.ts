import { createDatabase } from "@holdfast/testing/postgres/create-database";
import type { ClientBase } from "pg";
import { expect, onTestFinished, test } from "vitest";

import {
  beginOf,
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

test("through a pooler a transaction begins with what a connection is otherwise set up with", async () => {
  const database = await createDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const direct = withDefaults({ url: database.url });
  const pooled = withDefaults({ url: database.url, listenUrl: database.url });
  async function settingsIn(settings: typeof direct, use: "write" | "change" | "read") {
    const client = await connectWriter(settings);
    try {
      // Otherwise the defaults of the server would be right anyway.
      if (settings === pooled)
        await client.query(
          "SET synchronous_commit = off; SET default_transaction_isolation = serializable",
        );
      await client.query(beginOf(settings, use));
      const { rows } = await client.query<{ name: string; setting: string }>(
        `SELECT name, setting FROM pg_settings
          WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout',
                         'synchronous_commit', 'transaction_isolation', 'jit') ORDER BY name`,
      );
      await client.query("COMMIT");
      return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
    } finally {
      await client.end();
    }
  }
  const { jit, synchronous_commit, ...limits } = await settingsIn(direct, "write");
  expect([jit, synchronous_commit]).toEqual(["off", "on"]);
  expect(await settingsIn(pooled, "write")).toEqual({ jit, synchronous_commit, ...limits });
  expect(await settingsIn(pooled, "change")).toMatchObject(limits);
  expect(await settingsIn(pooled, "read")).toMatchObject({
    lock_timeout: "5000",
    statement_timeout: "15000",
  });
});
