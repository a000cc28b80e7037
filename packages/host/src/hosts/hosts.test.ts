import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { expect, onTestFinished, test } from "vitest";
import { keySettings } from "../../test/support/providers/models.ts";
import { openKeyring } from "../ops/secrets/secrets-key.ts";
import { openHosts } from "./hosts.ts";

test("after an outage of the store no host takes another for lost that had no time for a heartbeat", async () => {
  const harness = await referenceHarness.open();
  onTestFinished(() => harness.close());
  const clock = manualClock();
  const keyring = openKeyring(keySettings("/nowhere", "k".repeat(40)));
  let isAway = false;
  const { store } = harness;
  type Put = typeof store.register.put;
  const put: Put = async (change) =>
    isAway
      ? { status: "failed", code: "store_unavailable", message: "away" }
      : store.register.put(change);
  const open = (id: string) => {
    const hosts = openHosts({
      store: { register: { ...store.register, put }, now: () => store.now() },
      id: async () => id,
      keyring,
      runs: true,
      process: "runner",
      leaseMs: 8_000,
      clock,
      report(bug) {
        throw bug;
      },
    });
    hosts.start(null);
    onTestFinished(() => hosts.stop());
    return hosts;
  };
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      await harness.advanceClock(1_000);
      await clock.advance(1_000);
      for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    }
  };
  const [one, , gone] = [open("one"), open("two"), open("gone")];
  const up = async (): Promise<string[]> =>
    (await one.all()).flatMap(({ id, isUp }) => (isUp ? [id] : [])).toSorted();
  await pass(2);
  expect(await up()).toEqual(["gone", "one", "two"]);

  isAway = true;
  await pass(10);
  gone.stop();
  await pass(30);
  expect(await up()).toEqual(["gone", "one", "two"]);
  isAway = false;
  await pass(1);
  expect(await up()).toEqual(["gone", "one", "two"]);
  // Whoever was not heard of by then is lost.
  await pass(5);
  expect(await up()).toEqual(["one", "two"]);
});
