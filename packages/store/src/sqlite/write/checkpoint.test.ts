import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { aNotice } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { expect, onTestFinished, test } from "vitest";

import { connect } from "../connection.ts";
import { openSqliteStore } from "../store.ts";

test("a log that is far from full is put into the file as soon as nobody writes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-checkpoint-"));
  const file = join(folder, "store.db");
  const store = await openSqliteStore({ file, checkpointPages: 200 });
  const outside = connect({ file, access: "write" });
  onTestFinished(async () => {
    outside.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  /** How many pages the log has, and how many of them are in the file. */
  const look = () => {
    const row = outside.sql("PRAGMA wal_checkpoint(NOOP)").get();
    return { pages: Number(row?.["log"]), put: Number(row?.["checkpointed"]) };
  };
  // What made the file is not counted: the log begins anew behind it.
  outside.sql("PRAGMA wal_checkpoint(TRUNCATE)").get();
  const chat = await openTestSession(store);
  // Together, so that there is no pause between them.
  await Promise.all(
    Array.from({ length: 3 }, () => chat.commit([aNotice("x".repeat(100 * 1024))])),
  );
  const { pages } = look();
  expect(pages).toBeGreaterThan(200 / 5);
  expect(pages).toBeLessThan(200);
  await expect.poll(look).toEqual({ pages, put: pages });
});
