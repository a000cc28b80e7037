import type { ImportKind } from "@holdfast/protocol";

import { type ExportFile, ExportFiles, whyUnreadable } from "../reading/export-files.ts";
import type { Report } from "../reading/folder.ts";
import { parseJson } from "../reading/json.ts";
import { type JsonItem, readJsonItems } from "../reading/json-items.ts";
import type { ImportFinding, ImportItem, ReadOptions } from "../source.ts";
import { timeOf } from "../transcript/entries.ts";
import { Assets } from "./assets.ts";
import {
  type ChatConversation,
  memoriesIn,
  projectIdOf,
  projectNameOf,
  readConversation,
  sessionOf,
} from "./conversation.ts";

/** A larger conversation isn't read into memory. */
const maxConversationBytes = 200 * 1024 * 1024;
const conversationFiles = /(?:^|\/)conversations(?:-\d+)?\.json$/u;
const leftOut: Readonly<Record<string, string>> = {
  "message_feedback.json": "Feedback on answers is not supported.",
  "model_comparisons.json": "Comparisons of models have no place here.",
  "shared_conversations.json": "Links to shared conversations are not taken.",
  "group_chats.json": "Group chats are not taken.",
  "sora.json": "Videos of Sora are not taken.",
  "user_settings.json": "Settings of the account are not taken.",
};

/** A data export of ChatGPT, as it was downloaded or unpacked. */
export async function* readChatGptExport(options: ReadOptions): AsyncGenerator<ImportItem> {
  const findings: ImportFinding[] = [];
  const report: Report = (finding) => findings.push({ kind: "finding", ...finding });
  const files = await ExportFiles.open(options.path, report);
  try {
    const found = files.named(conversationFiles);
    const only = files.all.length === 1 ? files.all : [];
    const sources = found.length > 0 ? found : only;
    if (sources.length === 0) throw new Error(notAnExport(options.path));
    const reader = new ExportReader(options, await Assets.open(files, report), report);
    for (const file of sources) {
      for await (const item of reader.items(file)) {
        yield item;
        yield* findings.splice(0);
      }
      yield* findings.splice(0);
    }
    if (!reader.hasFound && reader.unknown > 0) throw new Error(notAnExport(options.path));
    yield* reader.facts();
    if (options.only.length === 0) reportTheRest(files, report);
    yield* findings;
  } finally {
    await files.close();
  }
}

function notAnExport(path: string): string {
  return `${path} is not an export of ChatGPT: it has no conversations of ChatGPT. Another program's data has a command of its own; holdfast help import lists them.`;
}

class ExportReader {
  hasFound = false;
  /** Elements that are no conversation of ChatGPT. */
  unknown = 0;
  readonly #options: ReadOptions;
  readonly #assets: Assets;
  readonly #report: Report;
  readonly #projects = new Set<string>();
  #memories: { readonly at: number; readonly path: string; readonly facts: readonly string[] } = {
    at: 0,
    path: "",
    facts: [],
  };

  constructor(options: ReadOptions, assets: Assets, report: Report) {
    this.#options = options;
    this.#assets = assets;
    this.#report = report;
  }

  #takes(kind: ImportKind): boolean {
    const { only } = this.#options;
    return only.length === 0 || only.includes(kind);
  }

  async *items(file: ExportFile): AsyncGenerator<ImportItem> {
    try {
      for await (const item of readJsonItems(file.read(), maxConversationBytes)) {
        const read = this.#conversation(item, file.path);
        if (read !== null) yield* this.#take(read, file.path);
      }
    } catch (error) {
      const text = `${whyUnreadable(error)} What comes before was imported.`;
      this.#report({ code: "unreadable", outcome: "damaged", path: file.path, text });
    }
  }

  #conversation(item: JsonItem, path: string): ChatConversation | null {
    if (item.kind === "too_large") {
      const text = `Conversation ${item.index + 1} has ${item.length} bytes; the limit is ${maxConversationBytes}.`;
      this.#report({ code: "too_large", outcome: "skipped", path, text });
      return null;
    }
    const { bytes } = item;
    if (item.kind !== "item") {
      this.unknown += 1;
      if (bytes.length === 0 && item.kind === "torn") return null;
      const text =
        "The file is cut off, or isn't JSON, from here on. What comes before was imported.";
      this.#report({ code: "torn_file", outcome: "damaged", path, text, bytes });
      return null;
    }
    const read = readConversation(parseJson(bytes.toString()));
    if (read !== null) {
      this.hasFound = true;
      return read;
    }
    this.unknown += 1;
    const text = `Element ${item.index + 1} is not a ChatGPT conversation.`;
    this.#report({ code: "unknown_row", outcome: "skipped", path, text, bytes });
    return null;
  }

  async *#take(read: ChatConversation, path: string): AsyncGenerator<ImportItem> {
    if (this.#takes("memory")) this.#remember(read, path);
    const project = projectIdOf(read);
    if (project !== null && this.#takes("projects") && !this.#projects.has(project)) {
      this.#projects.add(project);
      const name = projectNameOf(project);
      yield { kind: "project", key: project, name, text: "", persona: null };
      this.#report({
        code: "setting",
        outcome: "note",
        path,
        text: `The export has neither the name nor the instructions of the project ${project}. Here it is called ${JSON.stringify(name)}.`,
      });
    }
    if (!this.#takes("sessions")) return;
    const session = await sessionOf(read, { assets: this.#assets, path });
    if (session !== null) yield session;
    else
      this.#report({
        code: "ghost",
        outcome: "skipped",
        path,
        session: read.conversation_id ?? read.id ?? undefined,
        text: "It has no messages.",
      });
  }

  #remember(read: ChatConversation, path: string): void {
    const at = timeOf(read.update_time) ?? timeOf(read.create_time) ?? 0;
    if (at < this.#memories.at) return;
    const facts = memoriesIn(read);
    if (facts.length > 0) this.#memories = { at, path, facts };
  }

  *facts(): Generator<ImportItem> {
    const { at, path, facts } = this.#memories;
    // A millisecond apart: facts are listed by time, and entries have an order.
    for (const [index, text] of facts.entries())
      yield {
        kind: "fact",
        key: text,
        text,
        about: "person",
        use: "always",
        at: at + index,
        path,
      };
  }
}

function reportTheRest(files: ExportFiles, report: Report): void {
  for (const { path } of files.all) {
    const text = leftOut[path.split("/").at(-1) ?? ""];
    if (text !== undefined) report({ code: "not_supported", outcome: "skipped", path, text });
  }
}
