import { expect, test } from "vitest";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { killWhileAChildWorks, deliveredOnce } from "./delegate-scenario.ts";

test("[P3] [P7] on PostgreSQL, killed while a child works for a call: the same child goes on, and its answer is given back once", async () => {
  await using database = await createDatabase();
  expect(await killWhileAChildWorks({ HOLDFAST_STORE: database.url })).toEqual(deliveredOnce);
});
