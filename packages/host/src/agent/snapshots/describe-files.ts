import type { ChangedFileView, FileChangesView } from "@holdfast/protocol";

import type { FileSnapshots, SavedState } from "./file-snapshots.ts";
import type { PlannedFile } from "./restore-plan.ts";

const maxFiles = 200;
const maxDiffedBytes = 512 * 1024;
const maxDiffLength = 20_000;
const maxDiffsLength = 400_000;

/** Changed files as a person sees them, with what was changed in each. */
export async function describeFiles(
  snapshots: FileSnapshots,
  workspace: string,
  planned: readonly PlannedFile[],
): Promise<Pick<FileChangesView, "files" | "more">> {
  // Loaded when somebody looks at a diff, not when the host starts.
  const { unifiedDiff } = await import("../../util/text/diff.ts");
  const real = planned.filter(
    ({ first, left }) => first !== null || left.some((it) => it !== null),
  );
  const files: ChangedFileView[] = [];
  let room = maxDiffsLength;
  for (const { path, first, left, undo } of real.slice(0, maxFiles)) {
    const last = left.at(-1) ?? null;
    const change = first === null ? "created" : last === null ? "deleted" : "changed";
    const before = await textOf(snapshots, workspace, first);
    const after = await textOf(snapshots, workspace, last);
    const isShown = before !== null && after !== null && room > 0;
    const diff = isShown ? unifiedDiff(before, after, Math.min(maxDiffLength, room)) : "";
    room -= diff.length;
    files.push({ path, change, undo, diff });
  }
  return { files, more: Math.max(0, real.length - maxFiles) };
}

/** `null` if it is no text, or too much of it. */
async function textOf(
  snapshots: FileSnapshots,
  workspace: string,
  state: SavedState | null,
): Promise<string | null> {
  if (state === null) return "";
  const content = await snapshots.get(workspace, state.id);
  if (content === null || content.byteLength > maxDiffedBytes) return null;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}
