import { LocalFileSnapshots } from "../../src/agent/snapshots/local-snapshots.ts";
import { restoreFiles } from "../../src/agent/snapshots/restore-files.ts";
import { planRestore } from "../../src/agent/snapshots/restore-plan.ts";
import { Jail } from "../../src/agent/workspace/jail.ts";
import { findProgram } from "../../src/sandbox/find-program.ts";

export interface SavedFolder {
  readonly git: string;
  /** Saves the folder as before a command, and returns the snapshot's name. */
  readonly save: () => Promise<string>;
  /** Saves what has changed since, puts the files back as they were then, and says how long each took. */
  readonly saveAndUndo: (snapshot: string, files: number) => Promise<SavedAndUndone>;
}

interface SavedAndUndone {
  readonly saveMs: number;
  readonly undoMs: number;
}

/** Saves and undoes the files of a folder as the host does. For benchmarks, which are no tests. */
export async function openSavedFolder(folder: string, home: string): Promise<SavedFolder> {
  const git = findProgram("git");
  if (git === null) throw new Error("This benchmark needs git.");
  const snapshots = new LocalFileSnapshots({ folder: home, git });
  const { signal } = new AbortController();
  const jail = await Jail.open(folder);
  if (!jail.ok) throw new Error(jail.refusal.message);
  const workspace = snapshots.workspaceOf(jail.value.root);
  return {
    git,
    save: () => snapshots.take(folder, signal),
    async saveAndUndo(snapshot, files) {
      const startedAt = performance.now();
      const { changes } = await snapshots.changesSince(folder, snapshot, signal);
      const savedAt = performance.now();
      if (changes.length !== files) throw new Error(`${changes.length} changes were found.`);
      const list = await snapshots.put(workspace, Buffer.from(JSON.stringify(changes)));
      const saved = { workspace, changes: list, count: changes.length };
      const plan = await planRestore(snapshots, jail.value, {
        changes: [{ step: 0, saved }],
        missing: new Set(),
        notSaved: [],
        effects: [],
      });
      const wanted = plan.files.flatMap(({ path, first, current }) =>
        current === "unreadable" ? [] : [{ path, before: current, after: first }],
      );
      const { kept } = await restoreFiles(snapshots, jail.value, wanted);
      if (kept.length > 0) throw new Error(`${kept.length} files were not put back.`);
      return { saveMs: savedAt - startedAt, undoMs: performance.now() - savedAt };
    },
  };
}
