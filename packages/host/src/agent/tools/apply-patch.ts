import type { Tool, ToolResult } from "@holdfast/engine";
import { z } from "zod";

import type { Jail } from "../workspace/jail.ts";
import { nearestLines } from "../../util/text/nearest-lines.ts";
import { type FilePatch, parsePatch, patchText } from "../../util/text/patch.ts";
import { savingFiles } from "../snapshots/save-changes.ts";
import { defineTool, failed } from "./define-tool.ts";
import {
  changeResult,
  describeChange,
  type FileToolDeps,
  openWorkspace,
  readTextFile,
} from "./file-tool.ts";

const maxFiles = 50;

const input = z.strictObject({
  patch: z
    .string()
    .min(1)
    .describe("A unified diff (--- a/file, +++ b/file, @@ …). /dev/null makes or deletes a file."),
});

export function createApplyPatch(deps: FileToolDeps): Tool {
  return defineTool({
    name: "apply_patch",
    description:
      "Applies a unified diff to files of the workspace, completely or not at all. Its lines must match the files exactly.",
    input,
    replay: "never",
    asks: "ask",
    place: (call) => deps.workspaces.placeFor(call),
    async run({ patch }, call) {
      const parsed = parsePatch(patch);
      if (!parsed.ok) return failed(`The patch cannot be read. ${parsed.words}`);
      if (parsed.files.length > maxFiles) return failed(`A patch has at most ${maxFiles} files.`);
      const jail = await openWorkspace(deps, call);
      const planned = await planChanges(jail, parsed.files);
      if ("outcome" in planned) return planned;
      const paths = planned.map(({ path }) => path);
      return savingFiles(deps.snapshots, { call, jail }, paths, () => writeAll(jail, planned));
    },
  });
}

interface Change {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** Plans everything before it touches the first file. */
async function planChanges(
  jail: Jail,
  files: readonly FilePatch[],
): Promise<readonly Change[] | ToolResult> {
  /** Keyed by resolved path: `a`, `./a` and a link to it are one file, where a second change would undo the first. */
  const planned = new Map<string, Change>();
  for (const { from, to, hunks } of files) {
    const path = to ?? from ?? "";
    const refuse = (message: string): ToolResult =>
      failed(`Nothing was changed. ${JSON.stringify(path)}: ${message}`);
    if (from !== null && to !== null && from !== to) return refuse("files are not renamed.");
    const canonical = await jail.canonical(path);
    if (!canonical.ok) return refuse(canonical.refusal.message);
    if (planned.has(canonical.value)) return refuse("it comes twice.");
    const read = await readTextFile(jail, path);
    if (!("ok" in read)) return refuse(read.output);
    if (!read.ok && (from !== null || read.refusal.code !== "not_found"))
      return refuse(read.refusal.message);
    if (read.ok && from === null) return refuse("it is to be made, and is there already.");
    const before = read.ok ? read.value : null;
    const patched = patchText(before ?? "", hunks);
    if (!patched.ok) return refuse(patched.words + nearTo(before, patched.missing));
    if (to === null && patched.text !== "")
      return refuse("it is to be deleted, and more is in it.");
    planned.set(canonical.value, { path, before, after: to === null ? null : patched.text });
  }
  return [...planned.values()];
}

/** What the model probably meant, so that it can correct its patch without reading the file again. */
function nearTo(text: string | null, missing: string | undefined): string {
  const near = text === null || missing === undefined ? null : nearestLines(text, missing);
  return near === null ? "" : ` The nearest lines:\n${near}`;
}

async function writeAll(jail: Jail, changes: readonly Change[]): Promise<ToolResult> {
  const written: Change[] = [];
  for (const change of changes) {
    const done = await put(jail, change.path, change.after);
    if (done === null) {
      written.push(change);
      continue;
    }
    const stuck: string[] = [];
    for (const { path, before } of written.toReversed())
      if ((await put(jail, path, before)) !== null) stuck.push(path);
    const rest = stuck.length > 0 ? ` These could not be put back: ${stuck.join(", ")}.` : "";
    return failed(`Nothing was changed. ${done}${rest}`);
  }
  const message = changes.map(({ path, before, after }) => {
    const did = before === null ? "Made" : after === null ? "Deleted" : "Changed";
    return `${did} ${path}.`;
  });
  const described = changes.map(({ path, before, after }) => describeChange(path, before, after));
  return changeResult(message.join("\n"), await Promise.all(described));
}

/** Why not, or `null`. */
async function put(jail: Jail, path: string, text: string | null): Promise<string | null> {
  const done = text === null ? await jail.remove(path) : await jail.write(path, text);
  return done.ok ? null : done.refusal.message;
}
