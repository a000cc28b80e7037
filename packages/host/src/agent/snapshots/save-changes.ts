import type { ToolCall, ToolResult } from "@holdfast/engine";
import type { SavedFiles } from "@holdfast/protocol";

import type { Jail } from "../workspace/jail.ts";
import type { FileSnapshots, NotSaved, SavedChange, SavedChanges } from "./file-snapshots.ts";
import { isExecutable } from "./git-index.ts";
import { readWhole } from "./read-saved.ts";

type State = SavedChange["before"];

/** Runs a tool's change of these files, and saves them as they were before and after it. */
export async function savingFiles(
  snapshots: FileSnapshots | undefined,
  { call, jail }: { readonly call: ToolCall; readonly jail: Jail },
  paths: readonly string[],
  change: () => Promise<ToolResult>,
): Promise<ToolResult> {
  if (snapshots === undefined) return change();
  const workspace = snapshots.workspaceOf(jail.root);
  const files = await canonicalPaths(jail, paths);
  const before = await saveStates(snapshots, jail, files);
  const result = await change();
  const after = await saveStates(snapshots, jail, files);
  const changes: SavedChange[] = [];
  const notSaved: NotSaved[] = [];
  for (const path of files) {
    const [old, fresh] = [before.get(path), after.get(path)];
    if (old?.kind !== "saved" || fresh?.kind !== "saved")
      notSaved.push({ path, reason: reasonOf(old) ?? reasonOf(fresh) ?? "failed" });
    else if (!isSameState(old.state, fresh.state))
      changes.push({ path, before: old.state, after: fresh.state });
  }
  return withRecord(result, await recordChanges(snapshots, workspace, call, { changes, notSaved }));
}

function reasonOf(state: SavedFile | undefined): NotSaved["reason"] | undefined {
  return state?.kind === "refused" ? state.reason : undefined;
}

type SavedFile =
  | { readonly kind: "saved"; readonly state: State }
  | { readonly kind: "refused"; readonly reason: NotSaved["reason"] };

/** One file can be named in several ways. */
async function canonicalPaths(jail: Jail, paths: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const path of paths) {
    const canonical = await jail.canonical(path);
    if (canonical.ok && canonical.value !== "") found.add(canonical.value);
  }
  return [...found];
}

async function saveStates(
  snapshots: FileSnapshots,
  jail: Jail,
  paths: readonly string[],
): Promise<ReadonlyMap<string, SavedFile>> {
  const saved = await Promise.all(
    paths.map(async (path) => [path, await saveState(snapshots, jail, path)] as const),
  );
  return new Map(saved);
}

/** Saves a file as it is now. */
export async function saveState(
  snapshots: FileSnapshots,
  jail: Jail,
  path: string,
): Promise<SavedFile> {
  const file = await readWhole(jail, path);
  if (file.kind === "absent") return { kind: "saved", state: null };
  if (file.kind === "refused") return file;
  try {
    const id = await snapshots.put(snapshots.workspaceOf(jail.root), file.content);
    return { kind: "saved", state: { id, mode: file.mode } };
  } catch {
    return { kind: "refused", reason: "failed" };
  }
}

/** Git keeps of the permissions only whether a file can be run. */
export function isSameState(a: State, b: State): boolean {
  if (a === null || b === null) return a === b;
  return a.id === b.id && isExecutable(a.mode) === isExecutable(b.mode);
}

const maxNamed = 5;
const maxNamedLength = 200;

/** What the log says of saved changes. Their list may be long, and is saved with the files. */
export async function recordChanges(
  snapshots: FileSnapshots,
  workspace: string,
  session: Pick<ToolCall, "owner" | "session">,
  { changes, notSaved, missing }: SavedChanges,
): Promise<SavedFiles> {
  const named = notSaved.filter(({ path }) => path.length <= maxNamedLength).slice(0, maxNamed);
  const record = {
    workspace,
    ...(missing !== undefined && { missing }),
    ...(named.length > 0 && { notSaved: named.map((each) => ({ ...each })) }),
  };
  if (changes.length === 0) return { ...record, count: 0 };
  try {
    await snapshots.keepFor(workspace, session);
    const list = await snapshots.put(workspace, Buffer.from(JSON.stringify(changes)));
    return { ...record, changes: list, count: changes.length };
  } catch {
    return { ...record, count: 0, missing: "failed" };
  }
}

/** A call that changed nothing gets no record. */
function withRecord(result: ToolResult, saved: SavedFiles): ToolResult {
  const says = saved.changes ?? saved.missing ?? saved.notSaved;
  return says === undefined ? result : { ...result, details: { ...result.details, saved } };
}

const afterLimitMs = 30_000;
/** A call that was cancelled has a few seconds to end. */
const cancelledLimitMs = 2_000;

/** Saves what a command has changed since its snapshot. */
export async function savingCommand(
  snapshots: FileSnapshots | undefined,
  { call, jail }: { readonly call: ToolCall; readonly jail: Jail },
  signal: AbortSignal,
  run: () => Promise<ToolResult>,
): Promise<ToolResult> {
  const { snapshot } = call;
  const result = await run();
  if (snapshots === undefined || snapshot === undefined) return result;
  const limit = AbortSignal.timeout(signal.aborted ? cancelledLimitMs : afterLimitMs);
  const saved = await snapshots
    .changesSince(jail.root, snapshot, limit)
    .catch((): SavedChanges => ({ changes: [], notSaved: [], missing: "failed" }));
  const workspace = snapshots.workspaceOf(jail.root);
  return withRecord(result, await recordChanges(snapshots, workspace, call, saved));
}
