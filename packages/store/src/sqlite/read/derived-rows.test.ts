import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { OutboxQuery } from "@holdfast/engine";
import { ids, outboxState, ownerId } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { connect } from "../connection.ts";
import { openSqliteStore } from "../store.ts";
import { outboxQueries } from "./derived-rows.ts";

const session = ids.make("session");
const delivery = ids.make("delivery");

test.each<[string, OutboxQuery, RegExp]>([
  ["what is open in a session", { session, states: ["pending", "sending"], limit: 50 }, /by_state/],
  ["what is unknown in a session", { session, states: ["unknown"], limit: 20 }, /by_state/],
  ["what is unknown in a delivery", { delivery, states: ["unknown"], limit: 20 }, /by_state/],
  [
    "one delivery",
    { session, delivery, states: outboxState.options, limit: 1 },
    /session_key=\? AND delivery=\?/,
  ],
])("the outbox finds %s without scanning what was sent before", async (_, query, expectedPlan) => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-outbox-"));
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
  outboxQueries({ ...connection, sql }).outbox(ownerId.parse("owner"), query);
  const plan = statements.flatMap((text) => connection.sql(`EXPLAIN QUERY PLAN ${text}`).all());
  const steps = plan.map(({ detail }) => String(detail)).filter((detail) => / r /.test(detail));
  expect(steps).toEqual([expect.stringMatching(expectedPlan)]);
});
