import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const entryFile = join(root, "test", "dist", "host", "main.js");

/**
 * Builds the host and the store's threads once for all tests, and publishes where they are. If the build fails,
 * everything runs from its sources: one test covers the build itself.
 */
export default async function buildHost(): Promise<void> {
  delete process.env["HOLDFAST_TEST_HOST"];
  // In watch mode the sources change between runs.
  if (!process.argv.includes("run")) return;
  const setup = join(root, "scripts", "setup.mjs");
  const child = spawn(process.execPath, [setup, "test-host"], { stdio: "inherit" });
  await once(child, "close");
  if (child.exitCode !== 0) return;
  // The entry file names the folder that was built last.
  const name = /"\.\/(.+)\/main\.js"/.exec(readFileSync(entryFile, "utf8"))?.[1] ?? "";
  process.env["HOLDFAST_TEST_HOST"] = pathToFileURL(join(dirname(entryFile), name, "/")).href;
}
