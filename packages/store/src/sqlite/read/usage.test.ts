import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { UsageQuery } from "@holdfast/engine";
import { ids, ownerId } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { connect } from "../connection.ts";
import { openSqliteStore } from "../store.ts";
import { createQueries } from "./queries.ts";

const session = ids.make("session");
const runId = ids.make("run");

test.each<[string, UsageQuery, RegExp]>([
  ["a run", { runId }, /usage_by_run \(run_id=\?\)/],
  ["a run since yesterday", { runId, since: 1 }, /usage_by_run \(run_id=\?\)/],
  ["a session", { session }, /PRIMARY KEY \(session_id=\?\)/],
  ["a session since yesterday", { session, since: 1 }, /PRIMARY KEY \(session_id=\?\)/],
  ["a day", { since: 1 }, /usage_by_time \(owner_id=\? AND at>\?\)/],
])("the cost of %s is found without reading the rest of the ledger", async (_, query, plan) => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-usage-"));
  const file = join(folder, "store.db");
  await (await openSqliteStore({ file })).close();
  const connection = connect({ file, access: "read" });
  onTestFinished(() => {
    connection.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const statements: string[] = [];
  const sql = (text: string) => {
    statements.push(text);
    return connection.sql(text);
  };
  createQueries({ ...connection, sql }).usage(ownerId.parse("owner"), query);
  const steps = statements.flatMap((text) => connection.sql(`EXPLAIN QUERY PLAN ${text}`).all());
  expect(steps.map(({ detail }) => detail)).toEqual([expect.stringMatching(plan)]);
});
