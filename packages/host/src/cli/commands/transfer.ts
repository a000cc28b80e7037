import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { findSessions, describeError } from "@holdfast/client";
import { jsonObject } from "@holdfast/protocol";
import { readConfig } from "../../ops/config/read-config.ts";
import { systemCode } from "../../util/outcome.ts";
import { restoreBackup } from "../../ops/transfer/backup.ts";
import { type Command, exit, type Terminal, textFlag, isPiped, readAll } from "../command.ts";
import { withHost } from "../connection/connect.ts";
import { cleanLine, cleanText } from "../screen/text.ts";

function fail(terminal: Terminal, sentence: string, code: number = exit.failed): number {
  terminal.printError(sentence);
  return code;
}

export const exportCommand: Command = {
  usage: ["export <session>"],
  about:
    "Writes a session as a document: Markdown, a self-contained page, JSON that another Holdfast can import, or its signed log for holdfast verify.",
  flags: {
    format: { type: "string", value: "md|html|json|audit", about: "the format (md)" },
    versions: {
      type: "string",
      value: "all|shown",
      about: "all versions of edited and retried messages, or only those shown (all)",
    },
    to: { type: "string", value: "file", about: "where to; never over a file that is there" },
  },
  examples: [
    ["holdfast export garden > garden.md", "by words of its title"],
    ["holdfast export garden --format json --to garden.json", "to take it along"],
    [
      "holdfast export garden --format audit --to garden.jsonl",
      "a signed log that anyone can check",
    ],
  ],
  settings: "reach",
  run: (given, terminal) =>
    withHost(given, terminal, async ({ client }) => {
      const query = given.words.join(" ");
      const format = textFlag(given, "format") ?? "md";
      if (format !== "md" && format !== "html" && format !== "json" && format !== "audit")
        return fail(terminal, "--format takes md, html, json or audit.", exit.misuse);
      const versions = textFlag(given, "versions") ?? "all";
      if (versions !== "all" && versions !== "shown")
        return fail(terminal, "--versions takes all or shown.", exit.misuse);
      if (query === "") return fail(terminal, "Which session? holdfast sessions list", exit.misuse);
      const found = await findSessions(client, query);
      if (!found.ok) return fail(terminal, describeError(found.error));
      const [session, ...others] = found.sessions;
      if (session === undefined || others.length > 0)
        return fail(
          terminal,
          `No session, or more than one, fits "${query}": holdfast sessions list`,
        );
      const document = await client.exportSession({
        params: { id: session.id },
        query: { format, versions },
      });
      if (!document.ok) return fail(terminal, describeError(document.error));
      return writeNewFile(document.value, textFlag(given, "to"), terminal);
    }),
};

function writeNewFile(text: string, path: string | undefined, terminal: Terminal): number {
  if (path === undefined) {
    // A file gets the exact text; a terminal gets no control sequences.
    const shown = terminal.output.isTTY === true ? cleanText(text) : text;
    terminal.output.write(shown.endsWith("\n") ? shown : `${shown}\n`);
    return exit.done;
  }
  try {
    writeFileSync(path, text, { flag: "wx", mode: 0o600 });
    return exit.done;
  } catch (error) {
    return fail(terminal, `${path} cannot be written (${systemCode(error)}).`);
  }
}

export const importCommand: Command = {
  usage: ["import <file>", "import < file"],
  about:
    "Takes in a session that was exported as JSON. It gets an id of its own; the same document again is the same session.",
  examples: [
    ["holdfast import garden.json", "the conversation is there, under the day it was had"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [file] = given.words;
    if (file === undefined && !isPiped(terminal.input) && terminal.input.isTTY === true)
      return fail(terminal, "Which file? holdfast import garden.json", exit.misuse);
    const document = parse(await readText(file, terminal));
    if (document === undefined)
      return fail(terminal, `${file ?? "What came in"} is not a JSON document that was exported.`);
    return withHost(given, terminal, async ({ client }) => {
      const imported = await client.importSessions({ body: { format: "json", document } });
      if (!imported.ok) return fail(terminal, describeError(imported.error));
      for (const { id } of imported.value.sessions) terminal.print(`Taken in: ${id}`);
      for (const { id, reason } of imported.value.skipped)
        terminal.printError(`Left out: ${cleanLine(id)} (${cleanLine(reason)})`);
      return exit.done;
    });
  },
};

async function readText(file: string | undefined, { input }: Terminal): Promise<string> {
  if (file === undefined) return readAll(input);
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function parse(text: string) {
  try {
    return jsonObject.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export const backup: Command = {
  usage: ["backup"],
  about:
    "Copies everything into a new folder below backups in the home, while hosts work: the store as it is at one instant, and what is remembered. Secrets and the token are left out. PostgreSQL is copied by its own tools (pg_dump).",
  examples: [["holdfast backup", "prints the folder"]],
  settings: "reach",
  run: (given, terminal) =>
    withHost(given, terminal, async ({ client, config }) => {
      const created = await client.backup({});
      if (!created.ok) return fail(terminal, describeError(created.error));
      const folder = resolve(config.home.value, "backups", created.value.name);
      terminal.print(`${folder}  (${created.value.bytes} bytes)`);
      return exit.done;
    }),
};

export const restore: Command = {
  usage: ["restore <backup folder>"],
  about: "Puts a backup into a home that holds nothing yet. What is there is never written over.",
  examples: [
    [
      "holdfast restore ~/.holdfast/backups/2026-… --home ~/other",
      "then: holdfast chat --home ~/other",
    ],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [folder] = given.words;
    if (folder === undefined || !existsSync(folder))
      return fail(terminal, "Which backup? Name its folder.", exit.misuse);
    const config = readConfig({ ...terminal, flags: given.flags });
    if (!config.ok) return fail(terminal, config.failure.message);
    const restored = await restoreBackup(resolve(folder), config.value.home.value);
    if (!restored.ok) return fail(terminal, restored.failure.message);
    terminal.print(`Restored to ${restored.value}. holdfast fsck proves it.`);
    return exit.done;
  },
};
