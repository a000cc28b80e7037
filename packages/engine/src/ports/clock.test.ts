import process from "node:process";
import { expect, test } from "vitest";

import { systemClock } from "./clock.ts";

test("a wait whose time has passed already is over at once, and complains of nothing", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  await systemClock.sleep(-1);
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  expect(warnings).toEqual([]);
});
