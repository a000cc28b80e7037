import { expect, test } from "vitest";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { killBesideAProcess, reportedOnce } from "./background-processes-scenario.ts";

test("[P11] on PostgreSQL, a process outlives its turn and a kill -9 of its host; its end is told once, by the next host, and begins a turn", async () => {
  await using database = await createDatabase();
  expect(await killBesideAProcess({ HOLDFAST_STORE: database.url })).toEqual(reportedOnce);
});
