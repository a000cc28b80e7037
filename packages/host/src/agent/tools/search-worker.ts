import { parentPort } from "node:worker_threads";

import { Jail } from "../workspace/jail.ts";
import { type WalkedEntry, walkFiles } from "../workspace/walk-files.ts";
import { compileGlob } from "../../util/text/glob.ts";
import type { SearchJob, SearchMessage } from "./file-search.ts";

const maxFileBytes = 8 * 1024 * 1024;
const maxLineLength = 4_000;
const shownLength = 300;
const marks = { file: "", folder: "/", link: " (link)", other: " (special)" } as const;

const post = (note: SearchMessage): void => parentPort?.postMessage(note, []);

async function search(job: SearchJob): Promise<void> {
  const opened = await Jail.open(job.root);
  if (!opened.ok) return post({ kind: "failed", message: opened.refusal.message });
  const jail = opened.value;
  const linesOf = lineFinder(jail, job);
  const unreadable = (job.unreadable ?? []).map(compileGlob);
  const isUnreadable = (path: string): boolean =>
    unreadable.some((matches) => matches === null || matches(path));
  for await (const entry of walkFiles(jail, job.path, job.kind === "list" ? job.depth : Infinity)) {
    if (isUnreadable(entry.path)) continue;
    const lines = await linesOf(entry);
    if (lines.length > 0) post({ kind: "found", lines });
  }
  post({ kind: "over" });
}

function lineFinder(jail: Jail, job: SearchJob): (entry: WalkedEntry) => LinesFound {
  switch (job.kind) {
    case "list":
      return (entry) => [describe(entry)];
    case "glob": {
      const matches = compileGlob(job.pattern);
      return (entry) =>
        entry.kind !== "folder" && matches?.(entry.path) === true ? [describe(entry)] : [];
    }
    case "grep": {
      const isWanted = job.files === undefined ? null : compileGlob(job.files);
      const expression = new RegExp(job.pattern, job.flags);
      return ({ path, kind }) =>
        kind === "file" && isWanted?.(path) !== false
          ? matchingLines(jail, path, expression, job.maxLines)
          : [];
    }
  }
}

type LinesFound = readonly string[] | Promise<readonly string[]>;

function describe({ path, kind }: WalkedEntry): string {
  return `${path}${marks[kind]}`;
}

async function matchingLines(
  jail: Jail,
  path: string,
  expression: RegExp,
  maxLines: number,
): Promise<readonly string[]> {
  const read = await jail.read(path, async ({ handle, size }) =>
    size > maxFileBytes ? null : handle.readFile(),
  );
  if (!read.ok || read.value === null || read.value.subarray(0, 8_192).includes(0)) return [];
  const lines: string[] = [];
  for (const [index, line] of read.value.toString("utf8").split("\n").entries()) {
    if (!expression.test(line.slice(0, maxLineLength))) continue;
    lines.push(`${path}:${index + 1}: ${line.trimEnd().slice(0, shownLength).toWellFormed()}`);
    // One more tells that there are more.
    if (lines.length > maxLines) break;
  }
  return lines;
}

parentPort?.on("message", (job: SearchJob) => {
  search(job).catch((error: unknown) =>
    post({ kind: "failed", message: error instanceof Error ? error.message : String(error) }),
  );
});
