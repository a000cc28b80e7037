import { z } from "zod";
import { nearestLines } from "../../util/text/nearest-lines.ts";
import type { Tool } from "@holdfast/engine";
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
  path: z.string().min(1).max(4_096),
  old: z.string().min(1),
  new: z.string(),
  occurrences: z
    .enum(["one", "all"])
    .optional()
    .describe("`one` is the default; `all` replaces each."),
});

export function createEditFile(deps: FileToolDeps): Tool {
  return defineTool({
    name: "edit_file",
    description:
      "Replaces old text in a file of the workspace with new text. The old text must be exact, including spaces and line ends, and long enough to occur only once.",
    input,
    replay: "never",
    asks: "ask",
    place: (call) => deps.workspaces.placeFor(call),
    async run({ path, old, new: fresh, occurrences = "one" }, call) {
      if (old === fresh) return failed("The new text is the old one: there is nothing to change.");
      const jail = await openWorkspace(deps, call);
      const read = await readTextFile(jail, path);
      if (!("ok" in read)) return read;
      if (!read.ok) return failed(read.refusal.message);
      const pieces = read.value.split(old);
      const found = pieces.length - 1;
      if (found === 0) return failed(notFound(read.value, old));
      if (found > 1 && occurrences === "one")
        return failed(
          `The text stands in the file ${found} times. Give more of what is around it.`,
        );
      const after = pieces.join(fresh).toWellFormed();
      return savingFiles(deps.snapshots, { call, jail }, [path], async () => {
        const written = await jail.write(path, after);
        if (!written.ok) return failed(written.refusal.message);
        const times = found === 1 ? "one place" : `${found} places`;
        return changeResult(`Changed ${written.value} in ${times}.`, [
          await describeChange(written.value, read.value, after),
        ]);
      });
    },
  });
}

function notFound(text: string, old: string): string {
  const sentences = ["The text does not stand in the file exactly so."];
  if (text.includes("\r\n") && old.includes("\n") && !old.includes("\r\n"))
    sentences.push("The file's lines end with CRLF.");
  const near = nearestLines(text, old);
  if (near !== null) sentences.push(`What comes nearest:\n${near}`);
  return sentences.join(" ");
}
