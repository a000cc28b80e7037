import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Client, findSessions, describeError } from "@holdfast/client";
import { importSources, jsonObject } from "@holdfast/protocol";
import { readConfig } from "../../../ops/config/read-config.ts";
import { systemCode } from "../../../util/outcome.ts";
import { readManifest } from "../../../ops/transfer/backup-manifest.ts";
import { restoreBackup } from "../../../ops/transfer/restore.ts";
import { findRunningHost } from "../../connection/running-hosts.ts";
import {
  type Command,
  exit,
  hasFlag,
  type Terminal,
  textFlag,
  isPiped,
  readAll,
} from "../../command.ts";
import { withHost } from "../../connection/connect.ts";
import { cleanLine, cleanText } from "../../screen/text.ts";
import { transferStrings as texts } from "../../strings/data.ts";

function fail(terminal: Terminal, sentence: string, code: number = exit.failed): number {
  terminal.printError(sentence);
  return code;
}

export const exportCommand: Command = {
  usage: ["export <session>", "export --all <file>"],
  about: texts.export.about,
  flags: {
    format: { type: "string", value: "md|html|json|audit|jsonl", about: texts.export.flags.format },
    versions: {
      type: "string",
      value: "all|shown",
      about: texts.export.flags.versions,
    },
    to: { type: "string", value: "file", about: texts.export.flags.to },
    all: { type: "boolean", about: texts.export.flags.all },
  },
  examples: [
    ["holdfast export garden > garden.md", texts.export.examples.markdown],
    ["holdfast export garden --format json --to garden.json", texts.export.examples.json],
    ["holdfast export garden --format audit --to garden.jsonl", texts.export.examples.audit],
    ["holdfast export --all everything.jsonl", texts.export.examples.all],
    ["holdfast export --all pages.zip --format html", texts.export.examples.pages],
  ],
  settings: "reach",
  async run(given, terminal) {
    if (hasFlag(given, "all")) {
      const { exportAll } = await import("./export-all.ts");
      return exportAll(given, terminal);
    }
    return withHost(given, terminal, async ({ client }) => {
      const query = given.words.join(" ");
      const format = textFlag(given, "format") ?? "md";
      if (format !== "md" && format !== "html" && format !== "json" && format !== "audit")
        return fail(terminal, texts.export.badFormat, exit.misuse);
      const versions = textFlag(given, "versions") ?? "all";
      if (versions !== "all" && versions !== "shown")
        return fail(terminal, texts.export.badVersions, exit.misuse);
      if (query === "") return fail(terminal, texts.export.sessionMissing, exit.misuse);
      const found = await findSessions(client, query);
      if (!found.ok) return fail(terminal, describeError(found.error));
      const [session, ...others] = found.sessions;
      if (session === undefined || others.length > 0)
        return fail(terminal, texts.export.notOne(query));
      const document = await client.exportSession({
        params: { id: session.id },
        query: { format, versions },
      });
      if (!document.ok) return fail(terminal, describeError(document.error));
      return writeNewFile(document.value, textFlag(given, "to"), terminal);
    });
  },
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
    const code = systemCode(error) ?? "";
    const { exists, notWritten } = texts.export;
    return fail(terminal, code === "EEXIST" ? exists(path) : notWritten(path, code));
  }
}

export const importCommand: Command = {
  usage: [
    "import <file>",
    "import < file",
    "import hermes [folder]",
    "import chatgpt <export>",
    "import claude <export>",
    "import claude-code [folder]",
    "import codex [folder]",
    "import report [import]",
  ],
  about: texts.import.about,
  flags: {
    "dry-run": { type: "boolean", about: texts.import.flags.dryRun },
    only: { type: "string", value: "kinds", about: texts.import.flags.only },
    profile: { type: "string", value: "name", about: texts.import.flags.profile },
    secrets: { type: "boolean", about: texts.import.flags.secrets },
    all: { type: "boolean", about: texts.import.flags.all },
    json: { type: "boolean", about: texts.import.flags.json },
  },
  examples: [
    ["holdfast import garden.json", texts.import.examples.file],
    ["holdfast import everything.jsonl --home ~/other", texts.import.examples.everything],
    ["holdfast import hermes --dry-run", texts.import.examples.dryRun],
    ["holdfast import hermes ~/.hermes", texts.import.examples.hermes],
    ["holdfast import chatgpt ~/Downloads/chatgpt.zip", texts.import.examples.chatgpt],
    ["holdfast import claude-code", texts.import.examples.claudeCode],
    ["holdfast import report", texts.import.examples.report],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [file] = given.words;
    // A file of this name is ./hermes.
    const source = importSources.find((name) => name === file);
    if (source !== undefined || file === "report") {
      const { importHome, showReport } = await import("./import-home.ts");
      return source === undefined
        ? showReport(given, terminal)
        : importHome(source, given, terminal);
    }
    if (file === undefined && !isPiped(terminal.input) && terminal.input.isTTY === true)
      return fail(terminal, texts.import.fileMissing, exit.misuse);
    if (file !== undefined) {
      const { importExport, isFullExport } = await import("./import-export.ts");
      if (await isFullExport(file)) return importExport(file, given, terminal);
    }
    if (file !== undefined) {
      const { recognizeSources } = await import("../../../ops/import/reading/recognize.ts");
      const sources = await recognizeSources(file);
      if (sources.length > 0)
        return fail(terminal, texts.import.ofAnother(cleanLine(file), sources), exit.misuse);
    }
    const read = await readText(file, terminal);
    if (!read.ok) return fail(terminal, read.sentence);
    const document = parse(read.text);
    if (document === undefined) return fail(terminal, texts.import.notExported(file));
    return withHost(given, terminal, async ({ client }) => {
      const imported = await client.importSessions({ body: { format: "json", document } });
      if (!imported.ok) return fail(terminal, describeError(imported.error));
      for (const { id } of imported.value.sessions) terminal.print(texts.import.imported(id));
      for (const { id, reason } of imported.value.skipped)
        terminal.printError(texts.import.skipped(cleanLine(id), cleanLine(reason)));
      return exit.done;
    });
  },
};

type ReadText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly sentence: string };

async function readText(file: string | undefined, { input }: Terminal): Promise<ReadText> {
  if (file === undefined) return { ok: true, text: await readAll(input) };
  try {
    return { ok: true, text: readFileSync(file, "utf8") };
  } catch (error) {
    return { ok: false, sentence: texts.import.unreadable(file, systemCode(error) ?? "") };
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
  about: texts.backup.about,
  examples: [["holdfast backup", texts.backup.examples.backup]],
  settings: "reach",
  run: (given, terminal) =>
    withHost(given, terminal, async ({ client, config }) => {
      const stopShowing = showBackupProgress(client, terminal);
      const created = await client.backup({}).finally(stopShowing);
      if (!created.ok) return fail(terminal, describeError(created.error));
      const { name, bytes, sessions, events } = created.value;
      const folder = resolve(config.home.value, "backups", name);
      terminal.print(texts.backup.written(folder, bytes));
      terminal.print(texts.backup.verified(sessions ?? 0, events ?? 0));
      terminal.print(texts.backup.notIncluded);
      return exit.done;
    }),
};

const backupPollMs = 2_000;

function showBackupProgress(client: Client, terminal: Terminal): () => void {
  async function show(): Promise<void> {
    const listed = await client.listBackups();
    const running = listed.ok ? listed.value.running : null;
    if (running === null) return;
    const { phase, sessions, events } = running;
    terminal.printError(texts.backup.progress[phase](sessions, events));
  }
  const timer = setInterval(() => void show(), backupPollMs).unref();
  return () => clearInterval(timer);
}

export const restore: Command = {
  usage: ["restore <backup folder>"],
  about: texts.restore.about,
  flags: { replace: { type: "boolean", about: texts.restore.flags.replace } },
  examples: [
    ["holdfast restore ~/.holdfast/backups/2026-… --home ~/other", texts.restore.examples.restore],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [folder] = given.words;
    if (folder === undefined) return fail(terminal, texts.restore.folderMissing, exit.misuse);
    if (!existsSync(folder)) return fail(terminal, texts.restore.notThere(folder), exit.misuse);
    const config = readConfig({ ...terminal, flags: given.flags });
    if (!config.ok) return fail(terminal, config.failure.message);
    const home = config.value.home.value;
    const serving = await findRunningHost(home);
    if (serving !== undefined) return fail(terminal, texts.restore.hostRuns(serving));
    const manifest = await readManifest(resolve(folder));
    if (manifest?.verifiedAt == null) terminal.printError(texts.restore.unverified);
    const existing = hasFlag(given, "replace") ? "moved aside" : "refused";
    const restored = await restoreBackup(resolve(folder), home, { existing });
    if (!restored.ok) return fail(terminal, restored.failure.message);
    terminal.print(texts.restore.restored(restored.value));
    terminal.print(texts.restore.next);
    return exit.done;
  },
};
