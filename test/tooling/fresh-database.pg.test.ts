import { Client } from "pg";
import { expect, inject, test } from "vitest";
import { createDatabase } from "@holdfast/testing/postgres/create-database";

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

test("two fresh databases don't see each other, and are dropped afterwards", async () => {
  let names: string[];
  {
    await using one = await createDatabase();
    await using two = await createDatabase();
    await query(one.url, "CREATE TABLE t (x int)");
    await query(two.url, "CREATE TABLE t (x int)");
    names = [one.url, two.url].map((url) => new URL(url).pathname.slice(1));
    expect(await query(two.url, "SELECT x FROM t")).toEqual([]);
  }
  const left = await query(inject("postgresUrl"), "SELECT datname FROM pg_database");
  for (const name of names) expect(left).not.toContainEqual({ datname: name });
});

test("a database is dropped although a connection to it is still open", async () => {
  const database = await createDatabase();
  const client = new Client({ connectionString: database.url });
  const ended = new Promise((resolve) => client.on("error", resolve));
  await client.connect();
  await database[Symbol.asyncDispose]();
  expect(await ended).toBeInstanceOf(Error);
});
