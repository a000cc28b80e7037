import { aNotice } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, test } from "vitest";

import { runStoreChaos } from "./run.ts";
import { Ledger } from "./ledger.ts";

test("[P1] processes that are killed and paused at random lose nothing that was acknowledged, and write nothing twice", async () => {
  const { figures, problems } = await runStoreChaos({
    backend: "sqlite",
    writers: 2,
    kills: 10,
    seed: 20_260_101,
  });
  expect(problems).toEqual([]);
  expect(figures["kill -9"]).toBeGreaterThanOrEqual(10);
  expect(figures["commits acknowledged"]).toBeGreaterThan(50);
  expect(figures["branches made while their origin was purged"]).toBeGreaterThan(0);
  expect(figures["sessions purged"]).toBeGreaterThan(0);
}, 240_000);

test("the check detects lost and misplaced commits, and writes of a late holder", async () => {
  const store = createReferenceStore({ clock: () => 1 });
  const chat = await openTestSession(store);
  const [first, second] = [aNotice(), aNotice()];
  await chat.commit([first, second]);
  const { owner, session } = chat;
  const told = { word: "acknowledged", session, repeated: false } as const;

  const ledger = new Ledger();
  ledger.note({ ...told, ids: [first.id, second.id], first: 2, fence: 7 });
  expect((await ledger.check(store, owner, [session])).problems).toEqual([]);

  ledger.note({ ...told, ids: [aNotice().id], first: 4 });
  ledger.note({ ...told, ids: [first.id], first: 3, fence: 6 });
  const { problems } = await ledger.check(store, owner, [session]);
  expect(problems).toHaveLength(3);
  expect(problems[0]).toContain("where nothing is");
  expect(problems[1]).toContain(`where ${second.id} is`);
  expect(problems[2]).toContain("under fence 6 behind 7");

  const purged = new Ledger();
  purged.note({ word: "branched", session, texts: ["one"] });
  purged.note({ word: "purged", session });
  expect((await purged.check(store, owner, [])).problems).toEqual([
    `${session}: the branch reads “Something happened., Something happened.” instead of “one”`,
    `${session}: was purged, but still exists`,
  ]);
  await store.close();
});
