import { parentPort } from "node:worker_threads";

import { FolderReader } from "../workspace/folder-reader.ts";
import { Jail } from "../workspace/jail.ts";
import { type WalkedEntry, walkFiles } from "../workspace/walk-files.ts";
import { compileGlob } from "../../util/text/glob.ts";
import type { SearchJob, SearchMessage } from "./file-search.ts";
import { createLineMatcher } from "./match-lines.ts";

const maxFileBytes = 8 * 1024 * 1024;
const marks = { file: "", folder: "/", link: " (link)", other: " (special)" } as const;

const post = (note: SearchMessage): void => parentPort?.postMessage(note, []);

async function search(job: SearchJob): Promise<void> {
  const opened = await Jail.open(job.root);
  if (!opened.ok) return post({ kind: "failed", message: opened.refusal.message });
  const jail = opened.value;
  const reader = new FolderReader(jail, maxFileBytes);
  const linesOf = lineFinder(reader, job);
  const unreadable = (job.unreadable ?? []).map(compileGlob);
  const isUnreadable = (path: string): boolean =>
    unreadable.some((matches) => matches === null || matches(path));
  try {
    for await (const entry of walkFiles(
      jail,
      job.path,
      job.kind === "list" ? job.depth : Infinity,
    )) {
      if (isUnreadable(entry.path)) continue;
      const lines = await linesOf(entry);
      if (lines.length > 0) post({ kind: "found", lines });
    }
  } finally {
    await reader.close();
  }
  post({ kind: "over" });
}

function lineFinder(reader: FolderReader, job: SearchJob): (entry: WalkedEntry) => LinesFound {
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
      const matchLines = createLineMatcher(job, job.maxLines);
      return async ({ path, kind }) => {
        if (kind !== "file" || isWanted?.(path) === false) return [];
        const bytes = await reader.read(path);
        return bytes === null ? [] : matchLines(path, bytes);
      };
    }
  }
}

type LinesFound = readonly string[] | Promise<readonly string[]>;

function describe({ path, kind }: WalkedEntry): string {
  return `${path}${marks[kind]}`;
}

parentPort?.on("message", (job: SearchJob) => {
  search(job).catch((error: unknown) =>
    post({ kind: "failed", message: error instanceof Error ? error.message : String(error) }),
  );
});
