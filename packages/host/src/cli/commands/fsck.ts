import { fsckExit } from "@holdfast/engine";
import { type Client, type Result, describeError } from "@holdfast/client";
import { sleep } from "@holdfast/protocol";
import { type Command, exit, hasFlag, type Terminal } from "../command.ts";
import { connectHost } from "../connection/connect.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";
import { fsckStrings as texts } from "../strings/data.ts";

const pollMs = 200;

type FsckCheck = Extract<Awaited<ReturnType<Client["readFsck"]>>, { ok: true }>["value"];

export const fsck: Command = {
  usage: ["fsck"],
  about: texts.about,
  flags: {
    rebuild: { type: "boolean", about: texts.flags.rebuild },
    json: { type: "boolean", about: texts.flags.json },
  },
  examples: [
    ["holdfast fsck", texts.examples.check],
    ["holdfast fsck --rebuild", texts.examples.rebuild],
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
  if (output.isTTY === true) output.write(`\r${texts.progress(sessions, events)}`);
}

function finish(check: FsckCheck, terminal: Terminal, format: "json" | "words"): number {
  const { state, sessions, events, findings, found, repaired = 0, unproven = [], spills } = check;
  if (terminal.output.isTTY === true) terminal.output.write("\r\u001b[K");
  if (format === "json") terminal.print(cleanJson(check));
  else {
    for (const { code, table, message } of found)
      terminal.print(`${code}  ${table}: ${cleanLine(message)}`);
    if (findings > found.length) terminal.print(texts.more(findings - found.length));
    for (const item of unproven) terminal.print(texts.unproven(cleanLine(item)));
    if (spills !== undefined && spills > 0) terminal.print(texts.spills(spills));
    terminal.print(
      findings === 0
        ? texts.clean(sessions, events)
        : texts.found(sessions, events, findings, repaired),
    );
    if (findings > repaired && state === "done") terminal.print(texts.rebuildHint);
  }
  if (state !== "done") return fsckExit.failed;
  if (findings === 0) return exit.done;
  return findings === repaired ? fsckExit.repaired : fsckExit.damaged;
}
