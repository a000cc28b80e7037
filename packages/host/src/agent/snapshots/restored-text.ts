import type { FilesRestored, KeptReason } from "@holdfast/protocol";

import type { PendingRestore } from "./pending-restores.ts";

const begins: Readonly<Record<PendingRestore["cause"], (count: number) => string>> = {
  undo: (count) => `${filesOf(count)} put back as before`,
  redo: (count) => `The undo of files was reverted: ${filesOf(count)} changed again`,
  switch: (count) => `${filesOf(count)} brought to how this version left them`,
};

const reasons: Readonly<Record<KeptReason, string>> = {
  changed: "changed by somebody else since",
  lost: "no longer saved here",
  failed: "could not be read or written",
};

const shownNames = 10;

/** What the conversation says about a restore. */
export function restoredText(cause: PendingRestore["cause"], files: FilesRestored): string {
  const { restored, count, kept } = files;
  const shown = restored.slice(0, shownNames);
  const more = count > shown.length ? ` and ${count - shown.length} more` : "";
  const names = shown.length === 0 ? "" : `: ${shown.join(", ")}${more}`;
  const left = kept
    .slice(0, shownNames)
    .map(({ path, reason }) => `${path} (${reasons[reason]})`)
    .join(", ");
  const others = kept.length > shownNames ? ` and ${kept.length - shownNames} more` : "";
  return `${begins[cause](count)}${names}.${left === "" ? "" : ` Left as they are: ${left}${others}.`}`;
}

function filesOf(count: number): string {
  if (count === 0) return "No file was";
  return count === 1 ? "1 file was" : `${count} files were`;
}
