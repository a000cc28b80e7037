import { existsSync } from "node:fs";
import { dirname } from "node:path";

import { expect, test } from "vitest";

import {
  createHomes,
  openTestConfinement,
  runConfined,
} from "../../test/support/open-confinement.ts";
import { openMemoryGroups } from "./memory-groups.ts";

const megabytes = 96;

async function limitHere() {
  const { home } = createHomes();
  return (await openTestConfinement({ home, mode: "required" }).state()).memoryLimit;
}

test("[safety] where a control group was delegated, memory counts together, shared memory too", async () => {
  const limit = await limitHere();
  const run = (command: string) =>
    runConfined(createHomes(), command, { memoryMegabytes: megabytes });
  // Each process stays below the limit.
  const { output } = await run("head -c 150M /dev/zero > /dev/shm/a && echo WROTE");
  expect(output.includes("WROTE")).toBe(limit === "process");
  expect((await run("head -c 20M /dev/zero > /dev/shm/a && echo WROTE")).output).toBe("WROTE\n");
});

test("groups are made exactly where a control group was delegated, and removed once they are left over", async () => {
  let now = 0;
  const groups = openMemoryGroups(() => now);
  expect(groups === null).toBe((await limitHere()) === "process");
  const plain = { argv: ["/bin/true"], folder: "/", environment: {} } as const;
  const groupOf = () => dirname(groups?.limit(plain, megabytes)?.argv[4] ?? "/none/none");
  const first = groupOf();
  expect(existsSync(first)).toBe(groups !== null);
  now = 30_000;
  const second = groupOf();
  expect(existsSync(first)).toBe(groups !== null);
  now = 61_000;
  const third = groupOf();
  expect([existsSync(first), existsSync(second)]).toEqual([false, groups !== null]);
  now = 200_000;
  const fourth = groupOf();
  expect([existsSync(second), existsSync(third), existsSync(fourth)]).toEqual([
    false,
    false,
    groups !== null,
  ]);
});
