import { createHash } from "node:crypto";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, test } from "vitest";
import { owner } from "./authenticator.ts";
import { createSharedThrottle } from "./shared-throttle.ts";

function openTwo() {
  const clock = { now: 1_000 };
  const { register } = createReferenceStore();
  const open = () => createSharedThrottle(register, () => clock.now);
  return { clock, one: open(), other: open() };
}

test("[safety] attempts at two hosts count together, also concurrent ones", async () => {
  const { clock, one, other } = openTwo();
  const waits = await Promise.all(
    Array.from({ length: 12 }, async (_, at) => (at % 2 === 0 ? one : other).take("192.0.2.1")),
  );
  expect(waits.filter((wait) => wait === 0)).toHaveLength(5);
  expect(waits.filter((wait) => wait === 1_000)).toHaveLength(7);
  expect(await other.take("192.0.2.2")).toBe(0);
  clock.now += 1_000;
  expect([await other.take("192.0.2.1"), await one.take("192.0.2.1")]).toEqual([0, 2_000]);
});

test("a valid proof at one host ends the wait at another, and so does half an hour", async () => {
  const { clock, one, other } = openTwo();
  const guess = async () => {
    for (let attempt = 0; attempt < 6; attempt += 1) await one.take("192.0.2.1");
  };
  await guess();
  await other.reset("192.0.2.1");
  expect(await one.take("192.0.2.1")).toBe(0);
  await guess();
  clock.now += 30 * 60_000;
  expect(await other.take("192.0.2.1")).toBe(0);
});

test("[safety] a flood of addresses takes up a bounded part of the store", async () => {
  const { register } = createReferenceStore();
  const throttle = createSharedThrottle(register);
  const sharesRow = (address: string) =>
    createHash("sha256").update(address).digest("hex").startsWith("00");
  const addresses = Array.from({ length: 40_000 }, (_, n) => `10.0.${n >> 8}.${n & 255}`);
  const flood = addresses.filter(sharesRow);
  expect(flood.length).toBeGreaterThan(100);
  for (const address of flood) await throttle.take(address);
  const rows = await register.list(owner, "sign-in-attempts/", 10);
  expect(rows.map(({ key, value }) => [key, value.length < 8_000])).toEqual([
    ["sign-in-attempts/00", true],
  ]);
});
