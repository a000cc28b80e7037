import { type ExportFile, ExportFiles, whyUnreadable } from "../reading/export-files.ts";
import type { Report } from "../reading/folder.ts";
import { parseJson } from "../reading/json.ts";
import { readLines } from "../reading/lines.ts";
import type { ImportFinding, ImportItem, ReadOptions } from "../source.ts";
import { isSaid, readLine, type SessionLine } from "./line.ts";
import { sessionOf } from "./session.ts";

const maxLineBytes = 64 * 1024 * 1024;
const sessionFiles = /(?:^|\/)[^/]+\.jsonl$/u;
const agentFiles = /(?:^|\/)agent-([^/]+)\.jsonl$/u;
/** Neither said nor shown: how a prompt waits, what a file was, which window has the focus. */
const bookkeeping: ReadonlySet<string> = new Set([
  "file-history-snapshot",
  "progress",
  "queue-operation",
  "last-prompt",
  "attachment",
  "permission-mode",
  "mode",
  "agent-name",
  "agent-color",
  "tag",
  "pr-link",
]);

/** The sessions of Claude Code: a file of lines each, and one more for each agent that a session started. */
export async function* readClaudeCode(options: ReadOptions): AsyncGenerator<ImportItem> {
  if (options.only.length > 0 && !options.only.includes("sessions")) return;
  const findings: ImportFinding[] = [];
  const report: Report = (finding) => findings.push({ kind: "finding", ...finding });
  const files = await ExportFiles.open(options.path, report);
  try {
    const reader = new ProjectsReader(files.named(sessionFiles), report);
    for await (const item of reader.items()) {
      yield item;
      yield* findings.splice(0);
    }
    yield* findings.splice(0);
    if (!reader.hasFound)
      throw new Error(
        `${options.path} has no Claude Code sessions. They are in ~/.claude/projects, one folder per project.`,
      );
  } finally {
    await files.close();
  }
}

/** Files with the same first message: one conversation that was resumed into another file, which repeats its lines. */
interface Group {
  readonly key: string;
  readonly files: ExportFile[];
}

class ProjectsReader {
  hasFound = false;
  readonly #files: readonly ExportFile[];
  readonly #report: Report;
  /** The conversation of each session's id. */
  readonly #keys = new Map<string, string>();

  constructor(files: readonly ExportFile[], report: Report) {
    this.#files = files;
    this.#report = report;
  }

  async *items(): AsyncGenerator<ImportItem> {
    const groups = new Map<string, Group>();
    const agents: ExportFile[] = [];
    for (const file of this.#files) {
      if (agentFiles.test(file.path)) {
        agents.push(file);
        continue;
      }
      const key = await this.#firstMessage(file);
      if (key === null) continue;
      const group = groups.get(key) ?? { key, files: [] };
      group.files.push(file);
      groups.set(key, group);
      this.#keys.set(idOf(file), key);
    }
    yield { kind: "plan", sessions: groups.size + agents.length };
    for (const group of groups.values()) yield* this.#conversation(group);
    for (const file of agents) yield* this.#agent(file);
  }

  /** Its id names the conversation. */
  async #firstMessage(file: ExportFile): Promise<string | null> {
    try {
      for await (const line of readLines(file, maxLineBytes)) {
        const read = line.kind === "line" ? readLine(parseJson(line.bytes.toString())) : null;
        if (read !== null && isSaid(read) && !read.isSidechain) return read.uuid ?? null;
      }
    } catch {
      // Reported when it is read.
    }
    return null;
  }

  async *#conversation({ key, files }: Group): AsyncGenerator<ImportItem> {
    const known = new Set<string>();
    const own: SessionLine[] = [];
    const side: SessionLine[] = [];
    for (const file of files)
      for (const line of await this.#linesOf(file)) {
        if (line.uuid != null && known.has(line.uuid)) continue;
        if (line.uuid != null) known.add(line.uuid);
        (line.isSidechain ? side : own).push(line);
      }
    const path = files.at(-1)?.path ?? "";
    const lines = inTime(own, files.length);
    const session = sessionOf({ key, ids: files.map(idOf), path, lines });
    if (session === null) {
      this.#ghost(path, key);
      return;
    }
    this.hasFound = true;
    yield session;
    for (const [root, chain] of chainsOf(side)) {
      const child = sessionOf({ key: root, ids: [root], path, lines: chain, childOf: key });
      if (child !== null) yield child;
    }
  }

  async *#agent(file: ExportFile): AsyncGenerator<ImportItem> {
    const lines = await this.#linesOf(file);
    const id = agentFiles.exec(file.path)?.[1] ?? file.path;
    const parent = lines.find(({ sessionId }) => sessionId != null)?.sessionId ?? null;
    const childOf = parent === null ? undefined : this.#keys.get(parent);
    const key = `agent ${parent ?? ""} ${id}`;
    const about = { key, ids: [id], path: file.path, lines };
    const session = sessionOf(childOf === undefined ? about : { ...about, childOf });
    if (session === null) {
      this.#ghost(file.path, id);
      return;
    }
    this.hasFound = true;
    yield session;
    if (childOf === undefined)
      this.#report({
        code: "lost_parent",
        outcome: "damaged",
        path: file.path,
        session: id,
        text: "The session that started this agent is missing, so it was imported as a separate session.",
      });
  }

  async #linesOf(file: ExportFile): Promise<readonly SessionLine[]> {
    const { path } = file;
    const lines: SessionLine[] = [];
    const left = new Map<string, number>();
    try {
      for await (const line of readLines(file, maxLineBytes)) {
        if (line.kind === "too_large") {
          const text = `Line ${line.number} has ${line.length} bytes; the limit is ${maxLineBytes}.`;
          this.#report({ code: "too_large", outcome: "skipped", path, text });
          continue;
        }
        const { bytes, number } = line;
        const value = parseJson(bytes.toString());
        const read = readLine(value);
        if (read !== null) {
          if (!isSaid(read) && bookkeeping.has(read.type))
            left.set(read.type, (left.get(read.type) ?? 0) + 1);
          else if (!isSaid(read) && !isTitle(read)) this.#unknown(path, { number, bytes });
          lines.push(read);
        } else if (value === undefined) {
          const text = `Line ${number} is incomplete or not JSON.`;
          this.#report({ code: "torn_file", outcome: "damaged", path, text, bytes });
        } else this.#unknown(path, { number, bytes });
      }
    } catch (error) {
      const text = `${whyUnreadable(error)} What comes before was imported.`;
      this.#report({ code: "unreadable", outcome: "damaged", path, text });
    }
    if (left.size > 0) {
      const kinds = [...left].map(([type, count]) => `${count} ${type}`).join(", ");
      const text = `Lines without content for people were left out: ${kinds}.`;
      this.#report({ code: "leftover", outcome: "note", path, text });
    }
    return lines;
  }

  #unknown(path: string, { number, bytes }: { readonly number: number; readonly bytes: Buffer }) {
    const text = `Line ${number} has an unknown format.`;
    this.#report({ code: "unknown_row", outcome: "skipped", path, text, bytes });
  }

  #ghost(path: string, session: string): void {
    const text = "It has no messages.";
    this.#report({ code: "ghost", outcome: "skipped", path, session, text });
  }
}

function isTitle({ type }: SessionLine): boolean {
  return type === "summary" || type === "custom-title" || type === "ai-title";
}

function idOf({ path }: ExportFile): string {
  return (path.split("/").at(-1) ?? path).replace(/\.jsonl$/u, "");
}

/** What several files have is put together by time; the lines of one are in order. */
function inTime(lines: readonly SessionLine[], files: number): readonly SessionLine[] {
  if (files === 1) return lines;
  let last = 0;
  return lines
    .map((line) => {
      const at = Date.parse(String(line.timestamp));
      last = Number.isNaN(at) ? last : at;
      return { line, at: last };
    })
    .toSorted((a, b) => a.at - b.at)
    .map(({ line }) => line);
}

/** Agents of older versions wrote into the file of their session, each from a root of its own. */
function chainsOf(lines: readonly SessionLine[]): ReadonlyMap<string, SessionLine[]> {
  const chains = new Map<string, SessionLine[]>();
  const rootOf = new Map<string, string>();
  for (const line of lines) {
    if (line.uuid == null) continue;
    const root = (line.parentUuid == null ? undefined : rootOf.get(line.parentUuid)) ?? line.uuid;
    rootOf.set(line.uuid, root);
    const chain = chains.get(root);
    if (chain === undefined) chains.set(root, [line]);
    else chain.push(line);
  }
  return chains;
}
