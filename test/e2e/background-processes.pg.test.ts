import { expect, test } from "vitest";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { killBesideAProcess, reportedOnce } from "./background-processes-scenario.ts";

test("[P11] on PostgreSQL, a process outlives its turn and a kill -9 of its host; the next host reports its end once, which starts a turn", async () => {
  await using database = await createDatabase();
  expect(await killBesideAProcess({ HOLDFAST_STORE: database.url })).toEqual(reportedOnce);
});
