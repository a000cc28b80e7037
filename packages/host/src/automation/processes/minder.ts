import { renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { currentHolder, factsOf } from "@holdfast/store/identity";

import { systemCode } from "../../util/outcome.ts";
import { type CommandEnd, runCommand } from "../../util/run-command.ts";
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
 * Minds one background process: a process of its own, so that what it minds outlives the host, its end is seen and its
 * output kept while no host is there. Told what to do by the files of one folder, and to stop by SIGTERM.
 */
const [folder = "."] = process.argv.slice(2);

/** The whole text or none: whoever reads it may do so at any moment. */
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

/** The host that started it may be gone at any moment, which is nothing to us. */
function notifyHost(word: "begun" | "ended"): void {
  if (process.connected) process.send?.(word, () => process.connected && process.disconnect());
}

const spec = await readSpec(folder);
const age = await specAge(folder);
// P7: later it may have been told as lost already.
if (spec !== null && age !== null && age < startWithinMs) {
  const stopping = new AbortController();
  process.on("SIGTERM", () => stopping.abort());
  // A terminal that goes away, or Ctrl-C in it, is meant for the host.
  for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
  const output = createOutputWriter(folder);
  const minder = currentHolder("minder");
  const beat = join(folder, fileNames.beat);
  writeFileSync(beat, "", { mode: 0o600 });
  const beats = setInterval(() => {
    try {
      utimesSync(beat, new Date(), new Date());
    } catch {
      // Its home is gone: nobody will ever ask for it again.
      stopping.abort();
    }
  }, heartbeatMs);
  let unknown: string | null = null;
  const end = await runCommand({
    ...spec,
    // It is kept in files; nothing of it is needed here.
    keep: 2,
    signal: stopping.signal,
    onStart: (pid) => {
      const leader = { ...minder, ...factsOf(pid), agent: "process" };
      try {
        writeJson(fileNames.begun, { minder, leader });
        notifyHost("begun");
      } catch (error) {
        // No host could find it, and none could stop it: it must not go on.
        unknown = systemCode(error);
        stopping.abort();
      }
    },
    onOutput: (text) => output.add(text),
  });
  clearInterval(beats);
  try {
    writeJson(
      fileNames.end,
      unknown === null ? toProcessEnd(end) : { kind: "not_started", code: unknown },
    );
  } catch {
    // No room, or no home any more: then it counts as lost, which is what it is.
  }
  notifyHost("ended");
}
