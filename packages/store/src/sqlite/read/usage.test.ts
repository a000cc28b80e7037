import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { UsageGroupQuery, UsageQuery, WorkQuery } from "@holdfast/engine";
import { ids, ownerId } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { connect } from "../connection.ts";
import { openSqliteStore } from "../store.ts";
import { createQueries, type Queries } from "./queries.ts";

const session = ids.make("session");
const runId = ids.make("run");

test.each<[string, UsageQuery, RegExp]>([
  ["a run", { runId }, /usage_by_run \(run_id=\?\)/],
  ["a run since yesterday", { runId, since: 1 }, /usage_by_run \(run_id=\?\)/],
  ["a session", { session }, /PRIMARY KEY \(session_id=\?\)/],
  ["a session since yesterday", { session, since: 1 }, /PRIMARY KEY \(session_id=\?\)/],
  ["a day", { since: 1 }, /usage_by_time \(owner_id=\? AND at>\?\)/],
])("the cost of %s is found without reading the rest of the ledger", async (_, query, plan) => {
  const steps = await planOf((queries) => queries.usage(ownerId.parse("owner"), query));
  expect(steps).toEqual([expect.stringMatching(plan)]);
});

const within = { from: 1, to: 2 };

test.each<[string, UsageGroupQuery]>([
  ["day", { by: "day", days: [within] }],
  ["model", { by: "model", within, limit: 10 }],
  ["session", { by: "session", within, limit: 10 }],
  ["sender", { by: "client", prefix: "schedule:", within, limit: 10 }],
])("usage by %s reads the ledger by time, and nothing else as a whole", async (_, query) => {
  const steps = await planOf((queries) => queries.usageGroups(ownerId.parse("owner"), query));
  expect(steps).toContainEqual(
    expect.stringMatching(
      /SEARCH u USING (COVERING )?INDEX usage_by_time \(owner_id=\? AND at>\? AND at<\?\)/,
    ),
  );
  const whole = steps.filter((step) => step.startsWith("SCAN"));
  expect(whole.filter((step) => !/^SCAN (d VIRTUAL TABLE|used$|\(?subquery)/.test(step))).toEqual(
    [],
  );
});

test.each<[string, WorkQuery]>([
  ["a session and its delegated tasks", { session, childLanes: "delegate:" }],
  ["a schedule and its delegated tasks", { clientPrefix: "schedule:", childLanes: "delegate:" }],
])("the cost of %s reads no table as a whole", async (_, query) => {
  const steps = await planOf((queries) => queries.usageOfWork(ownerId.parse("owner"), query));
  const whole = steps.filter((step) => step.startsWith("SCAN"));
  const ownRows = /^SCAN (tree|work|used|own|d|continued|c|paid|\(?subquery|CONSTANT)/;
  expect(whole.filter((step) => !ownRows.test(step))).toEqual([]);
});

/** How SQLite runs the statements of a query, on an empty store. */
async function planOf(query: (queries: Queries) => unknown): Promise<readonly string[]> {
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
  query(createQueries({ ...connection, sql }));
  const steps = statements.flatMap((text) => connection.sql(`EXPLAIN QUERY PLAN ${text}`).all());
  return steps.map(({ detail }) => String(detail));
}
