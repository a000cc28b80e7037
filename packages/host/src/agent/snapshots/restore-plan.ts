import type { KeptReason, UnsavedReason } from "@holdfast/protocol";

import { mapParallel } from "../../util/map-parallel.ts";
import type { Jail } from "../workspace/jail.ts";
import {
  changeList,
  type FileSnapshots,
  type SavedChange,
  type SavedState,
} from "./file-snapshots.ts";
import type { LoggedChanges } from "./logged-changes.ts";
import { readWhole } from "./read-saved.ts";
import { isSameState } from "./save-changes.ts";

type State = SavedState | null;

/** A file that was changed: what it was first, and what the conversation left of it. */
export interface FileHistory {
  readonly path: string;
  readonly first: State;
  /** Usually one. Calls that ran at the same time may have seen several. */
  readonly left: readonly State[];
  /** Somebody else changed it between two calls. */
  readonly isBroken: boolean;
}

/** A file beside what an undo would make of it. */
export interface PlannedFile extends FileHistory {
  readonly current: State | "unreadable";
  readonly undo: "restore" | "none" | KeptReason;
}

export interface RestorePlan {
  readonly files: readonly PlannedFile[];
  readonly missing: readonly UnsavedReason[];
  /** Whether anything was recorded, here or elsewhere. */
  readonly isKnown: boolean;
}

const parallelFiles = 16;

/** Compares what was recorded with the files as they are now. Changes nothing. */
export async function planRestore(
  snapshots: FileSnapshots,
  jail: Jail,
  logged: LoggedChanges,
): Promise<RestorePlan> {
  const workspace = snapshots.workspaceOf(jail.root);
  const missing = new Set(logged.missing);
  const steps: { readonly step: number; readonly changes: readonly SavedChange[] }[] = [];
  for (const { step, saved } of logged.changes) {
    const list =
      saved.workspace === workspace && saved.changes !== undefined
        ? await readChangeList(snapshots, workspace, saved.changes)
        : null;
    if (list === null) missing.add("elsewhere");
    else steps.push({ step, changes: list });
  }
  const files = await mapParallel(joinSteps(steps), parallelFiles, (history) =>
    compareWithDisk(snapshots, jail, workspace, history),
  );
  return { files, missing: [...missing], isKnown: logged.changes.length > 0 };
}

export async function readChangeList(
  snapshots: FileSnapshots,
  workspace: string,
  id: string,
): Promise<readonly SavedChange[] | null> {
  const content = await snapshots.get(workspace, id);
  if (content === null) return null;
  try {
    return changeList.safeParse(JSON.parse(Buffer.from(content).toString("utf8"))).data ?? null;
  } catch {
    return null;
  }
}

/** What each file was before the first change, and is after the last. */
function joinSteps(
  steps: readonly { readonly step: number; readonly changes: readonly SavedChange[] }[],
): readonly FileHistory[] {
  const byPath = new Map<string, { step: number; edges: SavedChange[] }[]>();
  for (const { step, changes } of steps)
    for (const change of changes) {
      const groups = byPath.get(change.path) ?? [];
      byPath.set(change.path, groups);
      const last = groups.at(-1);
      if (last?.step === step) last.edges.push(change);
      else groups.push({ step, edges: [change] });
    }
  return [...byPath].map(([path, groups]) => joinGroups(path, groups));
}

function joinGroups(
  path: string,
  groups: readonly { readonly edges: readonly SavedChange[] }[],
): FileHistory {
  let first: State | undefined;
  let left: readonly State[] = [];
  let isBroken = false;
  for (const { edges } of groups) {
    const isAfter = (state: State): boolean => edges.some(({ after }) => isSameState(after, state));
    const isBefore = (state: State): boolean =>
      edges.some(({ before }) => isSameState(before, state));
    const begins = edges.map(({ before }) => before).filter((state) => !isAfter(state));
    const ends = edges.map(({ after }) => after).filter((state) => !isBefore(state));
    const starts = begins.length > 0 ? begins : edges.slice(0, 1).map(({ before }) => before);
    if (first === undefined) first = starts[0] ?? null;
    else isBroken ||= !left.some((state) => starts.some((start) => isSameState(start, state)));
    left = ends.length > 0 ? ends : edges.slice(-1).map(({ after }) => after);
  }
  return { path, first: first ?? null, left, isBroken };
}

async function compareWithDisk(
  snapshots: FileSnapshots,
  jail: Jail,
  workspace: string,
  history: FileHistory,
): Promise<PlannedFile> {
  const { path, first, left, isBroken } = history;
  const file = await readWhole(jail, path);
  if (file.kind === "refused") {
    // A link or something too large for us was put there since.
    const undo = file.reason === "unreadable" ? "failed" : "changed";
    return { ...history, current: "unreadable", undo };
  }
  const current =
    file.kind === "absent" ? null : { id: snapshots.idOf(file.content), mode: file.mode };
  const planned = { ...history, current };
  if (isSameState(current, first)) return { ...planned, undo: "none" };
  if (isBroken || !left.some((state) => isSameState(state, current)))
    return { ...planned, undo: "changed" };
  if (first !== null && (await snapshots.get(workspace, first.id)) === null)
    return { ...planned, undo: "lost" };
  return { ...planned, undo: "restore" };
}
