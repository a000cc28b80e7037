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
  ["what is open of a session", { session, states: ["pending", "sending"], limit: 50 }, /by_state/],
  ["what nobody knows of a session", { session, states: ["unknown"], limit: 20 }, /by_state/],
  ["what nobody knows of a delivery", { delivery, states: ["unknown"], limit: 20 }, /by_state/],
  [
    "one delivery",
    { session, delivery, states: outboxState.options, limit: 1 },
    /session_key=\? AND delivery=\?/,
  ],
])("however much went out before, %s is found without it", async (_, query, way) => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-outbox-"));
  const file = join(folder, "store.db");
  await (await openSqliteStore({ file })).close();
  const connection = connect({ file, access: "read" });
  onTestFinished(() => {
    connection.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const asked: string[] = [];
  const sql = (text: string) => {
    asked.push(text);
    return connection.sql(text);
  };
  outboxQueries({ ...connection, sql }).outbox(ownerId.parse("owner"), query);
  const plan = asked.flatMap((text) => connection.sql(`EXPLAIN QUERY PLAN ${text}`).all());
  const found = plan.map(({ detail }) => String(detail)).filter((each) => / r /.test(each));
  expect(found).toEqual([expect.stringMatching(way)]);
});
