import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { expect, test } from "vitest";
import { bridgeDies, hostReturns } from "./survival-scenarios.ts";

test("[P6] on PostgreSQL, killing the bridge in the middle ends nothing, and the next one shows everything once", async () => {
  await using database = await createDatabase();
  const { run, shown, stored } = await bridgeDies({ HOLDFAST_STORE: database.url });
  expect(run).toMatchObject({ state: "completed", attempt: 0 });
  expect(shown).toEqual(stored);
});

test("[P5] on PostgreSQL, a prompt that is open while the host is killed is answered by the next one", async () => {
  await using database = await createDatabase();
  const { ends, shown, stored } = await hostReturns({ HOLDFAST_STORE: database.url });
  expect(ends).toEqual([{ stopReason: "end_turn" }, { stopReason: "end_turn" }]);
  expect(shown).toBe(stored);
});
