import type { Tool, ToolResult } from "@holdfast/engine";
import { z } from "zod";

import { compileGlob } from "../../util/text/glob.ts";
import { defineTool, failed, ok } from "./define-tool.ts";
import { type FileToolDeps, openWorkspace } from "./file-tool.ts";
import { type WalkedEntry, walkFiles } from "../workspace/walk-files.ts";

const maxShown = 1_000;
const maxDepth = 10;
const path = z.string().max(4_096).optional().describe("A folder; the workspace unless told.");

export function createListFiles(deps: FileToolDeps): Tool {
  return defineTool({
    name: "list_files",
    description:
      "Lists the files and folders in a folder of the workspace. What .gitignore names is left out.",
    input: z.strictObject({
      path,
      depth: z.int().min(1).max(maxDepth).optional().describe("How many levels; 1 unless told."),
    }),
    replay: "safe",
    asks: "none",
    place: (call) => deps.workspaces.folderFor(call),
    async run({ path: start = ".", depth = 1 }, call, { signal }) {
      const jail = await openWorkspace(deps, call);
      return show(walkFiles(jail, start, { depth, signal }), "The folder is empty.");
    },
  });
}

export function createGlob(deps: FileToolDeps): Tool {
  return defineTool({
    name: "glob",
    description:
      "Finds files of the workspace by a pattern for their paths, like src/**/*.ts. What .gitignore names is left out.",
    input: z.strictObject({ pattern: z.string().min(1).max(1_000), path }),
    replay: "safe",
    asks: "none",
    place: (call) => deps.workspaces.folderFor(call),
    async run({ pattern, path: start = "." }, call, { signal }) {
      const matches = compileGlob(pattern);
      if (matches === null) return failed("This is no pattern like src/**/*.{ts,tsx}.");
      const jail = await openWorkspace(deps, call);
      const files = filtered(walkFiles(jail, start, { signal }), (entry) => matches(entry.path));
      return show(files, "No file matches.");
    },
  });
}

async function* filtered(
  entries: AsyncIterable<WalkedEntry>,
  matches: (entry: WalkedEntry) => boolean,
): AsyncGenerator<WalkedEntry> {
  for await (const entry of entries) if (entry.kind !== "folder" && matches(entry)) yield entry;
}

const marks = { file: "", folder: "/", link: " (link)", other: " (special)" } as const;

async function show(files: AsyncIterable<WalkedEntry>, whenNone: string): Promise<ToolResult> {
  try {
    return ok(await namesOf(files, whenNone));
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
}

async function namesOf(files: AsyncIterable<WalkedEntry>, whenNone: string): Promise<string> {
  const lines: string[] = [];
  for await (const { path: shown, kind } of files) {
    if (lines.length === maxShown) {
      lines.push(`[More than ${maxShown}: look at a part of it.]`);
      break;
    }
    lines.push(`${shown}${marks[kind]}`);
  }
  return lines.length === 0 ? whenNone : lines.join("\n");
}
