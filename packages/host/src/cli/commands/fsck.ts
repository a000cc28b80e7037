import { fsckExit } from "@holdfast/engine";
import { type Client, type Result, describeError } from "@holdfast/client";
import { sleep } from "@holdfast/protocol";
import { type Command, exit, hasFlag, type Terminal } from "../command.ts";
import { connectHost } from "../connection/connect.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";

const pollMs = 200;

type FsckCheck = Extract<Awaited<ReturnType<Client["readFsck"]>>, { ok: true }>["value"];

export const fsck: Command = {
  usage: ["fsck"],
  about: [
    "Proves that every number of every log is accounted for and that everything derived follows from the logs. It only reads,",
    "and may run while a host works. Exit codes: 0 clean, 1 repaired, 2 damaged, 3 it could not run to its end.",
  ].join("\n"),
  flags: {
    rebuild: { type: "boolean", about: "derive again what differs from its log" },
    json: { type: "boolean", about: "the whole outcome as JSON" },
  },
  examples: [
    ["holdfast fsck", "checks everything and changes nothing"],
    ["holdfast fsck --rebuild", "mends what can be derived from the logs, and proves it"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const connection = await connectHost(given, terminal, { localMode: "rests" });
    if (!connection.ok) {
      terminal.printError(connection.failure.message);
      return fsckExit.failed;
    }
    const { client, close } = connection.value;
    try {
      const format = hasFlag(given, "json") ? "json" : "words";
      const mode = hasFlag(given, "rebuild") ? "rebuild" : "check";
      const started = await client.startFsck({ body: { mode } });
      if (!started.ok) return failWith(terminal, started);
      for (let check: FsckCheck = started.value; ;) {
        if (check.state !== "running") return finish(check, terminal, format);
        printProgress(check, terminal);
        await sleep(pollMs);
        const next = await client.readFsck();
        if (!next.ok) return failWith(terminal, next);
        check = next.value;
      }
    } finally {
      await close();
    }
  },
};

function failWith(terminal: Terminal, result: Result<unknown> & { ok: false }): number {
  terminal.printError(describeError(result.error));
  return fsckExit.failed;
}

function printProgress({ sessions, events }: FsckCheck, { output }: Terminal): void {
  if (output.isTTY === true)
    output.write(`\r${pluralise(sessions, "session")}, ${pluralise(events, "event")} …`);
}

function finish(check: FsckCheck, terminal: Terminal, format: "json" | "words"): number {
  const { state, sessions, events, findings, found, repaired = 0, unproven = [], spills } = check;
  if (terminal.output.isTTY === true) terminal.output.write("\r\u001b[K");
  if (format === "json") terminal.print(cleanJson(check));
  else {
    for (const { code, table, message } of found)
      terminal.print(`${code}  ${table}: ${cleanLine(message)}`);
    if (findings > found.length) terminal.print(`… and ${findings - found.length} more`);
    for (const item of unproven)
      terminal.print(`Not proven, since it was being written: ${cleanLine(item)}`);
    if (spills !== undefined && spills > 0)
      terminal.print(
        `${pluralise(spills, "spill")} ${spills === 1 ? "waits" : "wait"} to be brought in; a host does that by itself.`,
      );
    const repairNote = repaired > 0 ? `, ${repaired} of them mended` : "";
    const outcome = findings === 0 ? "clean" : `${pluralise(findings, "finding")}${repairNote}`;
    terminal.print(`${pluralise(sessions, "session")}, ${pluralise(events, "event")}: ${outcome}.`);
    if (findings > repaired && state === "done")
      terminal.print("holdfast fsck --rebuild mends what follows from the logs.");
  }
  if (state !== "done") return fsckExit.failed;
  if (findings === 0) return exit.done;
  return findings === repaired ? fsckExit.repaired : fsckExit.damaged;
}

function pluralise(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
