import { renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { currentHolder, factsOf } from "@holdfast/store/identity";

import { systemCode } from "../../util/outcome.ts";
import { type CommandEnd, runCommand } from "../../sandbox/run-command.ts";
import {
  heartbeatMs,
  startWithinMs,
  fileNames,
  type ProcessEnd,
  readSpec,
  specAge,
  createOutputWriter,
} from "./process-folder.ts";

/**
 * Supervises one background process, from a process of its own: the command outlives the host, and its end and
 * output are recorded while no host runs. Controlled by the files of one folder, and stopped by SIGTERM.
 */
const [folder = "."] = process.argv.slice(2);

/** Atomic: it may be read at any moment. */
function writeJson(name: string, value: unknown): void {
  writeFileSync(join(folder, `${name}.new`), JSON.stringify(value), { mode: 0o600, flush: true });
  renameSync(join(folder, `${name}.new`), join(folder, name));
}

function toProcessEnd(end: CommandEnd): ProcessEnd {
  switch (end.kind) {
    case "exited":
      return { kind: "exited", code: end.code };
    case "killed":
      return { kind: "killed", signal: end.signal };
    case "stopped":
      return { kind: "stopped", why: end.why === "time" ? "time" : "asked" };
    case "not_started":
      return { kind: "not_started", code: end.code };
  }
}

/** The host that started it may be gone at any moment, which does not matter here. */
function notifyHost(event: "started" | "ended"): void {
  if (process.connected) process.send?.(event, () => process.connected && process.disconnect());
}

const spec = await readSpec(folder);
const age = await specAge(folder);
// P7: a late start is skipped, because it may have been reported as lost already.
if (spec !== null && age !== null && age < startWithinMs) {
  const stopping = new AbortController();
  process.on("SIGTERM", () => stopping.abort());
  // A terminal's hang-up or Ctrl-C is meant for the host.
  for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
  const output = createOutputWriter(folder);
  const minder = currentHolder("minder");
  const beatFile = join(folder, fileNames.beat);
  writeFileSync(beatFile, "", { mode: 0o600 });
  const heartbeat = setInterval(() => {
    try {
      utimesSync(beatFile, new Date(), new Date());
    } catch {
      // The home was deleted: nobody will ever ask for this process again.
      stopping.abort();
    }
  }, heartbeatMs);
  let startError: string | null = null;
  const { network = null, ...command } = spec;
  const end = await runCommand({
    ...command,
    network,
    // The output goes to files; nothing of it is needed here.
    keep: 2,
    signal: stopping.signal,
    onStart: (pid) => {
      const leader = { ...minder, ...factsOf(pid), agent: "process" };
      try {
        writeJson(fileNames.started, { minder, leader });
        notifyHost("started");
      } catch (error) {
        // No host could find it or stop it, so it must not continue.
        startError = systemCode(error);
        stopping.abort();
      }
    },
    onOutput: (text) => output.add(text),
  });
  clearInterval(heartbeat);
  try {
    if (end.reached !== undefined) writeJson(fileNames.reached, end.reached);
    writeJson(
      fileNames.end,
      startError === null ? toProcessEnd(end) : { kind: "not_started", code: startError },
    );
  } catch {
    // No disk space, or no home any more: then it is reported as lost.
  }
  notifyHost("ended");
}
