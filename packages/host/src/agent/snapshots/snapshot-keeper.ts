import { type Store, StoreFailure } from "@holdfast/engine";

import type { FileSnapshots } from "./file-snapshots.ts";
import type { FileUndo } from "./file-undo.ts";

export interface SnapshotKeeperDeps {
  readonly fileUndo: Pick<FileUndo, "finishPending">;
  readonly snapshots: Pick<FileSnapshots, "prune">;
  readonly store: Pick<Store, "reads">;
  readonly report: (bug: Error) => void;
}

const pruneEveryMs = 24 * 60 * 60_000;

/** Finishes restores that a killed process began, and deletes what no session needs any more. */
export function createSnapshotKeeper({ fileUndo, snapshots, store, report }: SnapshotKeeperDeps) {
  let timer: NodeJS.Timeout | undefined;
  let work: Promise<unknown> = Promise.resolve();

  function prune(): void {
    work = work
      .then(() =>
        snapshots.prune(
          async ({ owner, session }) => (await store.reads.session(owner, session)) !== null,
        ),
      )
      .catch(reportError);
  }

  function reportError(error: unknown): void {
    // It is tried again tomorrow, or when the host starts.
    if (error instanceof StoreFailure) return;
    report(error instanceof Error ? error : new Error(String(error)));
  }

  return {
    start(): void {
      work = fileUndo.finishPending().catch(reportError);
      prune();
      timer = setInterval(prune, pruneEveryMs).unref();
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await work;
    },
  };
}
