import { type ExportFile, ExportFiles, readWhole, whyUnreadable } from "../reading/export-files.ts";
import type { Report } from "../reading/folder.ts";
import { list, parseJson, record } from "../reading/json.ts";
import { readLines } from "../reading/lines.ts";
import { textForId } from "../entry-text.ts";
import type {
  ImportedEntry,
  ImportedSession,
  ImportFinding,
  ImportItem,
  ReadOptions,
  Remark,
} from "../source.ts";
import { cleanText, plainSession, timeOf } from "../transcript/entries.ts";
import { readMeta, readRecord, type RolloutMeta, type RolloutRecord } from "./record.ts";
import { entriesOf } from "./session.ts";

const maxLineBytes = 64 * 1024 * 1024;
const maxFileBytes = 128 * 1024 * 1024;
const sessionFiles = /(?:^|\/)rollout-[^/]+\.jsonl?$/u;
const packedFiles = /(?:^|\/)rollout-[^/]+\.jsonl\.(?:zst|gz)$/u;
const archivedFolder = /(?:^|\/)archived_sessions\//u;

/** The sessions of Codex, each a rollout in a file of lines. */
export async function* readCodexSessions(options: ReadOptions): AsyncGenerator<ImportItem> {
  if (options.only.length > 0 && !options.only.includes("sessions")) return;
  const findings: ImportFinding[] = [];
  const report: Report = (finding) => findings.push({ kind: "finding", ...finding });
  const files = await ExportFiles.open(options.path, report);
  try {
    const found = files.named(sessionFiles);
    if (found.length === 0)
      throw new Error(`${options.path} has no Codex sessions. They are in ~/.codex/sessions.`);
    const reader = new SessionsReader(options.path, report);
    await reader.scan(found);
    yield { kind: "plan", sessions: found.length };
    for (const file of found) {
      const session = await reader.session(file);
      if (session !== null) yield session;
      yield* findings.splice(0);
    }
    for (const { path } of files.named(packedFiles))
      report({
        code: "not_supported",
        outcome: "skipped",
        path,
        text: "The file is packed. Unpack it, and import again.",
      });
    yield* findings;
  } finally {
    await files.close();
  }
}

/** What a fork is compared with. */
interface Origin {
  readonly key: string;
  readonly texts: readonly string[];
  /** Its own entries begin here; those before are another session's. */
  readonly own: number;
}

class SessionsReader {
  readonly #root: string;
  readonly #report: Report;
  readonly #forked = new Set<string>();
  readonly #known = new Set<string>();
  readonly #origins = new Map<string, Origin>();

  constructor(root: string, report: Report) {
    this.#root = root;
    this.#report = report;
  }

  /** Which sessions others were forked from. */
  async scan(files: readonly ExportFile[]): Promise<void> {
    for (const file of files) {
      const meta = await this.#firstMeta(file);
      this.#known.add(meta?.id ?? idOf(file));
      if (meta?.forkedFrom != null) this.#forked.add(meta.forkedFrom);
    }
  }

  async #firstMeta(file: ExportFile): Promise<RolloutMeta | null> {
    try {
      for await (const line of readLines(file, maxLineBytes)) {
        const read = line.kind === "line" ? readRecord(parseJson(line.bytes.toString())) : null;
        return read?.kind === "meta" ? readMeta(read) : null;
      }
    } catch {
      // Reported when it is read.
    }
    return null;
  }

  async session(file: ExportFile): Promise<ImportedSession | null> {
    const remarks: Remark[] = [];
    const { path } = file;
    const report: Report = (finding) => remarks.push({ ...finding, path });
    const records = await this.#recordsOf(file, report);
    const metas = records.flatMap((each) => (each.kind === "meta" ? (readMeta(each) ?? []) : []));
    const [meta] = metas;
    const key = meta?.id ?? idOf(file);
    const { entries: all, usage, from, to } = entriesOf(records, { path, report });
    if (all.length === 0) {
      for (const remark of remarks) this.#report(remark);
      const text = "It has no messages.";
      this.#report({ code: "ghost", outcome: "skipped", path, session: key, text });
      return null;
    }
    const { entries, branchOf } = this.#branch(key, meta ?? null, all);
    reportFolder(metas, report);
    const parent = meta?.parent ?? null;
    const started = from === 0 ? (timeOf(meta?.timestamp) ?? 0) : from;
    return plainSession({
      key,
      archived: archivedFolder.test(`${this.#root}/${path}`),
      from: started,
      to: Math.max(started, to),
      entries: [...entries, ...usage],
      hasBranches: this.#forked.has(key),
      ...(branchOf !== undefined && { branchOf }),
      ...(parent !== null && this.#known.has(parent) && { childOf: { key: parent } }),
      remarks: remarks.map((remark) => ({ ...remark, session: key })),
    });
  }

  /** A fork begins with copies: as far as they are the other session's entries, they are read from there. */
  #branch(
    key: string,
    meta: RolloutMeta | null,
    all: readonly ImportedEntry[],
  ): { entries: readonly ImportedEntry[]; branchOf?: { key: string; upTo: number } } {
    const texts = all.map(textForId);
    const forkedFrom = meta?.forkedFrom ?? null;
    const origin = forkedFrom === null ? undefined : this.#origins.get(forkedFrom);
    const differs = texts.findIndex((each, index) => each !== origin?.texts[index]);
    let shared = differs === -1 ? texts.length : differs;
    // Between a call and its result nothing branches off.
    while (shared > 0 && shared < all.length && !isPrompt(all[shared])) shared -= 1;
    const reaches = all.slice(shared).some((entry) => reachesBefore(entry, shared));
    const isBranch = origin !== undefined && shared > origin.own && !reaches;
    const own = isBranch ? shared : 0;
    if (this.#forked.has(key)) this.#origins.set(key, { key, texts, own });
    if (!isBranch) return { entries: all };
    const entries = all.slice(shared).map((entry) => moved(entry, shared));
    return { entries, branchOf: { key: origin.key, upTo: shared - origin.own - 1 } };
  }

  async #recordsOf(file: ExportFile, report: Report): Promise<readonly RolloutRecord[]> {
    if (file.path.endsWith(".json")) return this.#oldRecords(file, report);
    const records: RolloutRecord[] = [];
    const { path } = file;
    try {
      for await (const line of readLines(file, maxLineBytes)) {
        if (line.kind === "too_large") {
          const text = `Line ${line.number} has ${line.length} bytes; the limit is ${maxLineBytes}.`;
          report({ code: "too_large", outcome: "skipped", path, text });
          continue;
        }
        const { bytes, number } = line;
        const value = parseJson(bytes.toString());
        const read = readRecord(value);
        if (read !== null) {
          records.push(read);
          continue;
        }
        const isTorn = value === undefined;
        report({
          code: isTorn ? "torn_file" : "unknown_row",
          outcome: isTorn ? "damaged" : "skipped",
          path,
          text: isTorn
            ? `Line ${number} is incomplete or not JSON.`
            : `Line ${number} has an unknown format.`,
          bytes,
        });
      }
    } catch (error) {
      const text = `${whyUnreadable(error)} What comes before was imported.`;
      report({ code: "unreadable", outcome: "damaged", path, text });
    }
    return records;
  }

  /** The first versions wrote one document. */
  async #oldRecords(file: ExportFile, report: Report): Promise<readonly RolloutRecord[]> {
    const bytes = await readWhole(file, maxFileBytes, report);
    if (bytes === null) return [];
    const value = parseJson(bytes.toString());
    const { session, items } = record.parse(value);
    const { path } = file;
    if (value === undefined || !Array.isArray(items)) {
      const text = "It is not a Codex session.";
      report({ code: "torn_file", outcome: "damaged", path, text, bytes });
      return [];
    }
    return [session, ...list.parse(items)].flatMap((each) => readRecord(each) ?? []);
  }
}

function isPrompt(entry: ImportedEntry | undefined): boolean {
  return entry?.type === "message" && entry.role === "user";
}

function reachesBefore(entry: ImportedEntry, start: number): boolean {
  return (entry.type === "undo" || entry.type === "summary") && entry.from < start;
}

function moved(entry: ImportedEntry, by: number): ImportedEntry {
  if (entry.type === "undo") return { ...entry, from: entry.from - by };
  if (entry.type === "summary") return { ...entry, from: entry.from - by, to: entry.to - by };
  return entry;
}

/** `rollout-2026-01-02T03-04-05-<id>.jsonl` */
function idOf({ path }: ExportFile): string {
  const name = (path.split("/").at(-1) ?? path).replace(/\.jsonl?$/u, "");
  return /[0-9a-f]{8}-[0-9a-f-]{27}$/u.exec(name)?.[0] ?? name;
}

function reportFolder(metas: readonly RolloutMeta[], report: Report): void {
  const folders = new Set(
    metas.flatMap(({ cwd, branch }) =>
      cwd === null ? [] : [branch === null ? cwd : `${cwd} (branch ${branch})`],
    ),
  );
  for (const folder of folders)
    report({
      code: "folder",
      outcome: "note",
      path: "",
      text: `It worked in ${cleanText(folder)}. An import does not allow folders.`,
    });
}
