import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { prepareHome } from "./home.ts";

test("a home that is missing is made, with the folders above it, for its owner alone", () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-home-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const home = join(folder, "some", "where");
  expect(prepareHome(home)).toEqual({ ok: true, value: home });
  expect(statSync(home).mode & 0o777).toBe(0o700);
});

test("where no folder can be made the answer is a sentence, and it comes", () => {
  expect(prepareHome("/proc/none/here")).toMatchObject({
    ok: false,
    failure: { code: "home.unusable" },
  });
});
