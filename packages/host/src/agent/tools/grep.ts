import { Worker } from "node:worker_threads";
import { z } from "zod";
import type { Tool, ToolResult } from "@holdfast/engine";
import { compileGlob } from "../../util/text/glob.ts";
import { defineTool, failed } from "./define-tool.ts";
import { type FileToolDeps, openWorkspace } from "./file-tool.ts";

/** What the worker thread gets. */
export interface GrepJob {
  readonly root: string;
  readonly path: string;
  readonly files: string | undefined;
  readonly pattern: string;
  readonly flags: string;
}

export type GrepMessage =
  | { readonly kind: "found"; readonly lines: readonly string[] }
  | { readonly kind: "over" }
  | { readonly kind: "failed"; readonly message: string };

export interface GrepDeps extends FileToolDeps {
  readonly searchMs?: number;
}

const defaultSearchMs = 15_000;
const maxMatches = 300;
const maxOutputLength = 48_000;
const script = new URL("./grep-worker.ts", import.meta.url);

const input = z.strictObject({
  pattern: z.string().min(1).max(1_000).describe("A regular expression, for one line."),
  path: z.string().max(4_096).optional().describe("A folder; the workspace unless told."),
  files: z.string().max(1_000).optional().describe("Only in files like this: **/*.ts"),
  case: z.enum(["matters", "ignored"]).optional(),
});

/** Searches in a worker thread: a regular expression may run forever, and only terminating its thread stops it. */
export function createGrep(deps: GrepDeps): Tool {
  const { searchMs = defaultSearchMs } = deps;
  return defineTool({
    name: "grep",
    description:
      "Finds lines in the text files of the workspace by a regular expression. What .gitignore names is left out.",
    input,
    replay: "safe",
    asks: "none",
    place: (call) => deps.workspaces.folderFor(call),
    async run({ pattern, path = ".", files, case: letters }, call, { signal, write }) {
      const flags = letters === "ignored" ? "iu" : "u";
      const expression = compilePattern(pattern, flags);
      if (expression === null) return failed("This is not a regular expression.");
      if (files !== undefined && compileGlob(files) === null)
        return failed("`files` is no pattern like **/*.ts.");
      const { root } = await openWorkspace(deps, call);
      return search({ root, path, files, ...expression }, { searchMs, signal, write });
    },
  });
}

/** Models often write patterns that the strict grammar refuses. */
function compilePattern(pattern: string, flags: string): Pick<GrepJob, "pattern" | "flags"> | null {
  for (const candidate of [flags, flags.replace("u", "")]) {
    try {
      void new RegExp(pattern, candidate);
      return { pattern, flags: candidate };
    } catch {
      continue;
    }
  }
  return null;
}

interface SearchContext {
  readonly searchMs: number;
  readonly signal: AbortSignal;
  readonly write: (text: string) => void;
}

function search(job: GrepJob, { searchMs, signal, write }: SearchContext): Promise<ToolResult> {
  const lines: string[] = [];
  let remaining = maxOutputLength;
  const { promise, resolve } = Promise.withResolvers<ToolResult>();
  const worker = new Worker(script, {
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  const end = (more: string, outcome: "ok" | "failed" | "cancelled" = "ok"): void => {
    clearTimeout(timer);
    signal.removeEventListener("abort", cancel);
    void worker.terminate();
    const output = [...lines, ...(more === "" ? [] : [more])].join("\n");
    resolve({ outcome, output });
  };
  const cancel = (): void => end("", "cancelled");
  const timer = setTimeout(() => {
    const message = `[It took longer than ${searchMs} ms and was stopped. Use a simpler expression, or look at less.]`;
    end(message, lines.length > 0 ? "ok" : "failed");
  }, searchMs);
  signal.addEventListener("abort", cancel, { once: true });
  worker.on("message", (note: GrepMessage) => {
    if (note.kind === "over") return end(lines.length === 0 ? "No line matches." : "");
    if (note.kind === "failed") return end(note.message, "failed");
    for (const line of note.lines) {
      if (lines.length >= maxMatches || remaining <= 0) return end("[There are more matches.]");
      remaining -= line.length;
      lines.push(line);
      write(`${line}\n`);
    }
  });
  worker.once("error", (error) => end(error.message, "failed"));
  if (signal.aborted) cancel();
  return promise;
}
