import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { prepareHome } from "./home.ts";

test("a missing home is created with its parents, for its owner only", () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-home-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const home = join(folder, "some", "where");
  expect(prepareHome(home)).toEqual({ ok: true, value: home });
  expect(statSync(home).mode & 0o777).toBe(0o700);
});

test("a home that cannot be created gives a message, and does not hang", () => {
  expect(prepareHome("/proc/none/here")).toMatchObject({
    ok: false,
    failure: { code: "home.unusable" },
  });
});
