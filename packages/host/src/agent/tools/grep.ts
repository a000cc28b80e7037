import type { Tool } from "@holdfast/engine";
import { z } from "zod";

import { compileGlob } from "../../util/text/glob.ts";
import { defineTool, failed } from "./define-tool.ts";
import type { SearchOutput } from "./file-search.ts";
import { openWorkspace } from "./file-tool.ts";
import type { FileSearchDeps } from "./find-files.ts";

const output: SearchOutput = {
  maxLines: 300,
  maxLength: 48_000,
  whenNone: "No line matches.",
  whenMore: "[There are more matches.]",
};

const input = z.strictObject({
  pattern: z.string().min(1).max(1_000).describe("A regular expression, for one line."),
  path: z.string().max(4_096).optional().describe("A folder; default: the workspace."),
  files: z.string().max(1_000).optional().describe("Only in files like this: **/*.ts"),
  case: z.enum(["matters", "ignored"]).optional(),
});

export function createGrep(deps: FileSearchDeps): Tool {
  return defineTool({
    name: "grep",
    description:
      "Finds lines in the text files of the workspace by a regular expression. What .gitignore names is left out.",
    input,
    replay: "safe",
    asks: "none",
    onlyReads: true,
    place: (call) => deps.workspaces.placeFor(call),
    async run({ pattern, path = ".", files, case: letters }, call, context) {
      const expression = compilePattern(pattern, letters === "ignored" ? "iu" : "u");
      if (expression === null) return failed("This is not a regular expression.");
      if (files !== undefined && compileGlob(files) === null)
        return failed("`files` is no pattern like **/*.ts.");
      const { root } = await openWorkspace(deps, call);
      const { maxLines } = output;
      const { unreadable } = deps;
      const job = { kind: "grep", root, path, files, maxLines, unreadable, ...expression } as const;
      return deps.search(job, output, context);
    },
  });
}

/** Models often write patterns that the strict grammar refuses. */
function compilePattern(
  pattern: string,
  flags: string,
): { readonly pattern: string; readonly flags: string } | null {
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
