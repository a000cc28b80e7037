import { runCommand } from "../../src/sandbox/run-command.ts";
import { openConfinement } from "../../src/sandbox/confinement.ts";

/** A host of its own that runs one line in a sandbox and prints its output. */
const [home = "", workspace = "", line = ""] = process.argv.slice(2);
const confinement = openConfinement({
  mode: "required",
  home,
  folders: [],
  processes: 1_000,
  memoryMegabytes: 0,
  fileMegabytes: 256,
  environment: process.env,
  egressAllow: [],
});
const argv = ["/bin/sh", "-c", line] as const;
const plain = { argv, folder: workspace, environment: { PATH: "/usr/bin:/bin" } };
const confined = await confinement.confine(plain, { writable: [workspace], network: "none" });
if (!confined.ok) throw new Error(confined.message);
const { signal } = new AbortController();
const end = await runCommand({ ...confined.command, timeLimitMs: 100_000, signal });
process.stdout.write(end.output);
