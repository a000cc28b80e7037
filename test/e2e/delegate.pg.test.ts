import { expect, test } from "vitest";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { killWhileAChildWorks, deliveredOnce } from "./delegate-scenario.ts";

test("[P3] [P7] on PostgreSQL, after a kill while a child works for a call, the same child continues and its answer is returned once", async () => {
  await using database = await createDatabase();
  expect(await killWhileAChildWorks({ HOLDFAST_STORE: database.url })).toEqual(deliveredOnce);
});
