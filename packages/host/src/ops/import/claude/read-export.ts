import type { ImportKind } from "@holdfast/protocol";

import { type ExportFile, ExportFiles, readWhole, whyUnreadable } from "../reading/export-files.ts";
import type { Report } from "../reading/folder.ts";
import { parseJson, record } from "../reading/json.ts";
import { readJsonItems } from "../reading/json-items.ts";
import type { ImportFinding, ImportItem, ReadOptions } from "../source.ts";
import { readConversation, sessionOf } from "./conversation.ts";
import { factsIn, readProject } from "./projects.ts";

/** A larger conversation isn't read into memory. */
const maxConversationBytes = 200 * 1024 * 1024;
const maxOtherBytes = 64 * 1024 * 1024;
const conversationFiles = /(?:^|\/)(?:conversations(?:-\d+)?\.json|conversations\/[^/]+\.json)$/u;
const projectFiles = /(?:^|\/)(?:projects\.json|projects\/[^/]+\.json)$/u;
const memoryFiles = /(?:^|\/)(?:memories\.json|memories\/[^/]+\.json)$/u;
const designFiles = /(?:^|\/)design_chats\/[^/]+\.json$/u;
const personFiles = /(?:^|\/)(?:users|login_history)\.json$/u;

/** A data export of Claude, as it was downloaded or unpacked: one archive or several. */
export async function* readClaudeExport(options: ReadOptions): AsyncGenerator<ImportItem> {
  const findings: ImportFinding[] = [];
  const report: Report = (finding) => findings.push({ kind: "finding", ...finding });
  const files = await ExportFiles.open(options.path, report);
  try {
    const reader = new ExportReader(files, options, report);
    for await (const item of reader.items()) {
      yield item;
      yield* findings.splice(0);
    }
    yield* findings.splice(0);
    if (!reader.hasFound)
      throw new Error(
        `${options.path} is not an export of Claude: it has no conversations of Claude. Another program's data has a command of its own; holdfast help import lists them.`,
      );
  } finally {
    await files.close();
  }
}

class ExportReader {
  hasFound = false;
  readonly #files: ExportFiles;
  readonly #options: ReadOptions;
  readonly #report: Report;
  readonly #projects = new Map<string, string>();

  constructor(files: ExportFiles, options: ReadOptions, report: Report) {
    this.#files = files;
    this.#options = options;
    this.#report = report;
  }

  #takes(kind: ImportKind): boolean {
    const { only } = this.#options;
    return only.length === 0 || only.includes(kind);
  }

  async *items(): AsyncGenerator<ImportItem> {
    yield* this.#readProjects();
    if (this.#takes("memory")) yield* this.#memories();
    const found = this.#files.named(conversationFiles);
    const only = this.#files.all.length === 1 ? this.#files.all : [];
    for (const file of found.length > 0 ? found : only) yield* this.#conversations(file);
    if (this.#options.only.length === 0) await this.#reportTheRest();
  }

  async *#elements(file: ExportFile): AsyncGenerator {
    try {
      for await (const item of readJsonItems(file.read(), maxConversationBytes)) {
        const { path } = file;
        if (item.kind === "too_large") {
          const text = `Element ${item.index + 1} has ${item.length} bytes; the limit is ${maxConversationBytes}.`;
          this.#report({ code: "too_large", outcome: "skipped", path, text });
          continue;
        }
        const { bytes } = item;
        const value = item.kind === "item" ? parseJson(bytes.toString()) : undefined;
        if (value !== undefined) {
          yield value;
          continue;
        }
        if (bytes.length === 0) continue;
        const text =
          "From here on, the file is incomplete or not JSON. What comes before was imported.";
        this.#report({ code: "torn_file", outcome: "damaged", path, text, bytes });
      }
    } catch (error) {
      const text = `${whyUnreadable(error)} What comes before was imported.`;
      this.#report({ code: "unreadable", outcome: "damaged", path: file.path, text });
    }
  }

  #unknown({ path }: ExportFile, value: unknown): void {
    // An account without memory, or a sample.
    if (value === null || Object.keys(record.parse(value)).length === 0) return;
    const text = "It has an unknown format.";
    const bytes = Buffer.from(JSON.stringify(value));
    this.#report({ code: "unknown_row", outcome: "skipped", path, text, bytes });
  }

  async *#readProjects(): AsyncGenerator<ImportItem> {
    for (const file of this.#files.named(projectFiles))
      for await (const value of this.#elements(file)) {
        const project = readProject(value);
        if (project === null) {
          this.#unknown(file, value);
          continue;
        }
        this.hasFound = true;
        this.#projects.set(project.key, project.name);
        if (this.#takes("projects")) yield project;
      }
  }

  async *#memories(): AsyncGenerator<ImportItem> {
    const { now: at } = this.#options;
    for (const file of this.#files.named(memoryFiles))
      for await (const value of this.#elements(file)) {
        const facts = factsIn(value, { path: file.path, at, projects: this.#projects });
        if (facts === null) this.#unknown(file, value);
        else {
          this.hasFound = true;
          yield* facts;
        }
      }
  }

  async *#conversations(file: ExportFile): AsyncGenerator<ImportItem> {
    for await (const value of this.#elements(file)) {
      const read = readConversation(value);
      if (read === null) {
        this.#unknown(file, value);
        continue;
      }
      this.hasFound = true;
      if (!this.#takes("sessions")) continue;
      const { path } = file;
      const place = { files: this.#files, path, projects: this.#projects };
      const session = await sessionOf(read, place);
      if (session !== null) yield session;
      else {
        const text = "It has no messages.";
        this.#report({ code: "ghost", outcome: "skipped", path, session: read.uuid, text });
      }
    }
  }

  async #reportTheRest(): Promise<void> {
    for (const { path } of this.#files.named(personFiles)) {
      const text = "Account data is not imported.";
      this.#report({ code: "not_supported", outcome: "skipped", path, text });
    }
    for (const file of this.#files.named(designFiles)) {
      const bytes = await readWhole(file, maxOtherBytes, this.#report);
      this.#report({
        code: "not_supported",
        outcome: "skipped",
        path: file.path,
        text: "Design conversations are not supported.",
        ...(bytes !== null && { bytes }),
      });
    }
  }
}
