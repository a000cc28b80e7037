import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

const setup = fileURLToPath(new URL("../../scripts/setup.mjs", import.meta.url));

/** Builds the page once for all tests; if that fails, only the tests of the page fail. */
export default async function buildPage(project: TestProject): Promise<void> {
  const child = spawn(process.execPath, [setup, "page"], { stdio: "inherit" });
  await once(child, "close");
  project.provide("page", child.exitCode === 0 ? "built" : "broken");
}
