import { parentPort, workerData } from "node:worker_threads";

import { Jail } from "../workspace/jail.ts";
import { compileGlob } from "../../util/text/glob.ts";
import type { GrepJob, GrepMessage } from "./grep.ts";
import { walkFiles } from "../workspace/walk-files.ts";

const maxFileBytes = 8 * 1024 * 1024;
const maxLineLength = 4_000;
const shownLength = 300;

const post = (note: GrepMessage): void => parentPort?.postMessage(note, []);

async function search({ root, path, files, pattern, flags }: GrepJob): Promise<void> {
  const opened = await Jail.open(root);
  if (!opened.ok) return post({ kind: "failed", message: opened.refusal.message });
  const jail = opened.value;
  const isWanted = files === undefined ? null : compileGlob(files);
  const expression = new RegExp(pattern, flags);
  for await (const file of walkFiles(jail, path)) {
    if (file.kind !== "file" || isWanted?.(file.path) === false) continue;
    const read = await jail.read(file.path, async ({ handle, size }) =>
      size > maxFileBytes ? null : handle.readFile(),
    );
    if (!read.ok || read.value === null || read.value.subarray(0, 8_192).includes(0)) continue;
    const lines: string[] = [];
    for (const [index, line] of read.value.toString("utf8").split("\n").entries())
      if (expression.test(line.slice(0, maxLineLength)))
        lines.push(
          `${file.path}:${index + 1}: ${line.trimEnd().slice(0, shownLength).toWellFormed()}`,
        );
    if (lines.length > 0) post({ kind: "found", lines });
  }
  post({ kind: "over" });
}

search(workerData as GrepJob).catch((error: unknown) =>
  post({ kind: "failed", message: error instanceof Error ? error.message : String(error) }),
);
