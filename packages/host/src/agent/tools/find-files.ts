import type { Tool } from "@holdfast/engine";
import { z } from "zod";

import { compileGlob } from "../../util/text/glob.ts";
import { defineTool, failed } from "./define-tool.ts";
import type { FileSearch, SearchOutput } from "./file-search.ts";
import { type FileToolDeps, openWorkspace } from "./file-tool.ts";

export interface FileSearchDeps extends FileToolDeps {
  readonly search: FileSearch;
  /** Patterns of paths that are left out: reading them is denied, or has to be asked for. */
  readonly unreadable?: readonly string[] | undefined;
}

const maxShown = 1_000;
const maxDepth = 10;
const path = z.string().max(4_096).optional().describe("A folder; default: the workspace.");

function namesOr(whenNone: string): SearchOutput {
  const whenMore = `[More than ${maxShown}: look at a part of it.]`;
  return { maxLines: maxShown, maxLength: Infinity, whenNone, whenMore };
}

export function createListFiles(deps: FileSearchDeps): Tool {
  return defineTool({
    name: "list_files",
    description:
      "Lists the files and folders in a folder of the workspace. What .gitignore names is left out.",
    input: z.strictObject({
      path,
      depth: z.int().min(1).max(maxDepth).optional().describe("How many levels; default 1."),
    }),
    replay: "safe",
    asks: "none",
    onlyReads: true,
    place: (call) => deps.workspaces.placeFor(call),
    async run({ path: start = ".", depth = 1 }, call, { signal }) {
      const { root } = await openWorkspace(deps, call);
      const { unreadable } = deps;
      const job = { kind: "list", root, path: start, depth, unreadable } as const;
      return deps.search(job, namesOr("The folder is empty."), { signal });
    },
  });
}

export function createGlob(deps: FileSearchDeps): Tool {
  return defineTool({
    name: "glob",
    description:
      "Finds files of the workspace by a pattern for their paths, like src/**/*.ts. What .gitignore names is left out.",
    input: z.strictObject({ pattern: z.string().min(1).max(1_000), path }),
    replay: "safe",
    asks: "none",
    onlyReads: true,
    place: (call) => deps.workspaces.placeFor(call),
    async run({ pattern, path: start = "." }, call, { signal }) {
      if (compileGlob(pattern) === null)
        return failed("This is no pattern like src/**/*.{ts,tsx}.");
      const { root } = await openWorkspace(deps, call);
      const { unreadable } = deps;
      const job = { kind: "glob", root, path: start, pattern, unreadable } as const;
      return deps.search(job, namesOr("No file matches."), { signal });
    },
  });
}
