import { type FileHandle, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { systemCode } from "../../util/outcome.ts";

/** Format of the reports in a home's folder `imports`. */
export const reportFormat = "holdfast.import-report";
export const reportVersion = 1;

const count = z.int().nonnegative();
const counts = z.record(z.string(), count);

/** One text: its role, its hash before, its hash as the store has it (`null`: it is missing), and where it was found. */
const provenText = z.tuple([z.string(), z.string(), z.string().nullable(), z.string()]);
export type ProvenText = z.infer<typeof provenText>;

const remark = z.looseObject({
  code: z.string(),
  outcome: z.string(),
  path: z.string(),
  session: z.string().optional(),
  text: z.string(),
  /** Its bytes are kept under this name. */
  blob: z.string().optional(),
});

export const reportItem = z.looseObject({
  item: z.enum([
    "session",
    "project",
    "persona",
    "fact",
    "skill",
    "schedule",
    "mcp_server",
    "secret",
    "finding",
  ]),
  /** `taken`, `merged`, `recovered`, `known`, `extended`, `skipped`, `failed`; of a finding, its own. */
  outcome: z.string(),
  name: z.string(),
  reason: z.string().optional(),
  path: z.string().optional(),
  session: z.string().optional(),
  ids: z.array(z.string()).optional(),
  /** Where a session was held there: `cli`, `telegram`, … */
  via: z.string().optional(),
  /** Messages by role: as read, and as the store has them. */
  before: counts.optional(),
  after: counts.optional(),
  hidden: count.optional(),
  /** In the order of the session: what is in view, then what was taken back. */
  texts: z.array(provenText).optional(),
  differs: count.optional(),
  remarks: z.array(remark).optional(),
  code: z.string().optional(),
  blob: z.string().optional(),
});
export type ReportItem = z.infer<typeof reportItem>;

export const reportTotals = z.looseObject({
  /** By kind of item and outcome. */
  items: z.record(z.string(), counts),
  /** By code and outcome. */
  findings: z.record(z.string(), counts),
  /** Messages by role. */
  before: counts,
  after: counts,
  texts: count,
  /** Texts that the store has otherwise than the source, or not at all. */
  differs: count,
  /** Of a complete report. */
  endedAt: count.optional(),
  state: z.enum(["done", "failed"]).optional(),
  failure: z.string().nullable().optional(),
});
export type ReportTotals = z.infer<typeof reportTotals>;

export const reportHead = z.looseObject({
  format: z.literal(reportFormat),
  version: z.literal(reportVersion),
  id: z.string(),
  source: z.string(),
  path: z.string(),
  dryRun: z.boolean(),
  startedAt: count,
});
export type ReportHead = z.infer<typeof reportHead>;

function addTo(target: Record<string, number>, name: string, amount = 1): void {
  target[name] = (target[name] ?? 0) + amount;
}

/** Adds up what was written. */
export class Tally {
  readonly totals: ReportTotals = {
    items: {},
    findings: {},
    before: {},
    after: {},
    texts: 0,
    differs: 0,
  };

  add(item: ReportItem): void {
    const { totals } = this;
    if (item.item === "finding") this.#addFinding(item.code ?? "", item.outcome);
    else addTo((totals.items[item.item] ??= {}), item.outcome);
    for (const each of item.remarks ?? []) this.#addFinding(each.code, each.outcome);
    for (const [role, amount] of Object.entries(item.before ?? {}))
      addTo(totals.before, role, amount);
    for (const [role, amount] of Object.entries(item.after ?? {}))
      addTo(totals.after, role, amount);
    totals.texts += item.texts?.length ?? 0;
    totals.differs += item.differs ?? 0;
  }

  #addFinding(code: string, outcome: string): void {
    addTo((this.totals.findings[code] ??= {}), outcome);
  }
}

const flushLength = 256 * 1024;

/**
 * Writes a report as one JSON document, an item a line, so that it never has to be in memory. It gets its name when it is
 * complete.
 */
export class ReportWriter {
  readonly path: string;
  readonly tally: Tally = new Tally();
  readonly #file: FileHandle;
  readonly #draft: string;
  #waiting = "";
  #isFirst = true;

  private constructor(path: string, draft: string, file: FileHandle) {
    this.path = path;
    this.#draft = draft;
    this.#file = file;
  }

  static async create(folder: string, head: ReportHead): Promise<ReportWriter> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${head.id}.json`);
    const draft = `${path}.partial`;
    const file = await open(draft, "w", 0o600);
    const writer = new ReportWriter(path, draft, file);
    writer.#waiting = `${JSON.stringify(head).slice(0, -1)},"items":[`;
    return writer;
  }

  async add(item: ReportItem): Promise<void> {
    this.tally.add(item);
    this.#waiting += `${this.#isFirst ? "" : ","}\n${JSON.stringify(item)}`;
    this.#isFirst = false;
    if (this.#waiting.length > flushLength) await this.#write();
  }

  async finish(end: Required<Pick<ReportTotals, "endedAt" | "state" | "failure">>): Promise<void> {
    const { totals } = this.tally;
    this.#waiting += `\n],\n"totals":${JSON.stringify({ ...totals, ...end })}}\n`;
    await this.#write();
    await this.#file.sync();
    await this.#file.close();
    await rename(this.#draft, this.path);
  }

  async abandon(): Promise<void> {
    await this.#file.close();
    await rm(this.#draft, { force: true });
  }

  async #write(): Promise<void> {
    const text = this.#waiting;
    this.#waiting = "";
    await this.#file.writeFile(text);
  }
}

export interface StoredReport {
  readonly head: ReportHead;
  readonly totals: ReportTotals;
}

/** The names of the reports of a home, newest first. */
export async function listReports(folder: string): Promise<readonly string[]> {
  try {
    const names = await readdir(folder);
    return names
      .flatMap((name) => (name.endsWith(".json") ? [name.slice(0, -".json".length)] : []))
      .toSorted()
      .toReversed();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

const itemsMark = ',"items":[';

/** Reads a report line by line. `null`: it is none. */
export async function parseReport(
  lines: AsyncIterable<string> | Iterable<string>,
  item: (item: ReportItem) => void,
): Promise<StoredReport | null> {
  let head: ReportHead | undefined;
  for await (const line of lines) {
    if (head === undefined) {
      if (!line.endsWith(itemsMark)) return null;
      head = reportHead.safeParse(parse(`${line.slice(0, -itemsMark.length)}}`)).data;
      if (head === undefined) return null;
    } else if (line.startsWith('"totals":')) {
      const totals = reportTotals.safeParse(parse(line.slice('"totals":'.length, -1))).data;
      return totals === undefined ? null : { head, totals };
    } else if (line.startsWith("{")) {
      const read = reportItem.safeParse(parse(line.replace(/,$/, ""))).data;
      if (read !== undefined) item(read);
    }
  }
  return null;
}

/** The beginning and the end of a stored report. `null`: there is none. */
export async function readReportSummary(folder: string, id: string): Promise<StoredReport | null> {
  try {
    const file = await open(join(folder, `${id}.json`), "r");
    try {
      const { size } = await file.stat();
      const start = await readAt(file, 0, summaryBytes);
      const end = await readAt(file, Math.max(0, size - summaryBytes), summaryBytes);
      const [head = ""] = start.split("\n", 1);
      const totals = end.slice(end.lastIndexOf('\n"totals":') + 1);
      return await parseReport([head, ...totals.split("\n")], () => {});
    } finally {
      await file.close();
    }
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** More than the first and the last line have. */
const summaryBytes = 64 * 1024;

async function readAt(file: FileHandle, at: number, bytes: number): Promise<string> {
  const buffer = Buffer.alloc(bytes);
  const { bytesRead } = await file.read(buffer, 0, bytes, at);
  return buffer.subarray(0, bytesRead).toString();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
