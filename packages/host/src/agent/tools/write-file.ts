import type { Tool } from "@holdfast/engine";
import { z } from "zod";

import { savingFiles } from "../snapshots/save-changes.ts";
import { defineTool, failed } from "./define-tool.ts";
import {
  changeResult,
  describeChange,
  type FileToolDeps,
  openWorkspace,
  readTextFile,
} from "./file-tool.ts";

const input = z.strictObject({
  path: z.string().min(1).max(4_096).describe("From the workspace. Folders are made."),
  content: z.string().describe("The whole new content."),
});

export function createWriteFile(deps: FileToolDeps): Tool {
  return defineTool({
    name: "write_file",
    description:
      "Writes a whole file of the workspace, replacing what is there. To change a part, use edit_file.",
    input,
    // The same content gives the same file.
    replay: "safe",
    asks: "ask",
    place: (call) => deps.workspaces.placeFor(call),
    async run({ path, content }, call) {
      const jail = await openWorkspace(deps, call);
      const before = await readTextFile(jail, path);
      const isNew = "ok" in before && !before.ok && before.refusal.code === "not_found";
      return savingFiles(deps.snapshots, { call, jail }, [path], async () => {
        const written = await jail.write(path, content.toWellFormed());
        if (!written.ok) return failed(written.refusal.message);
        const bytes = Buffer.byteLength(content);
        const message = `${isNew ? "Made" : "Wrote"} ${written.value}: ${bytes} bytes.`;
        // Earlier content that is no text is not shown.
        const old = "ok" in before && before.ok ? before.value : isNew ? null : "";
        return changeResult(message, [await describeChange(written.value, old, content)]);
      });
    },
  });
}
