import { type Store, StoreFailure } from "@holdfast/engine";

import { staleLockMs } from "../../util/atomic-file.ts";
import type { FileSnapshots } from "./file-snapshots.ts";
import type { FileUndo } from "./file-undo.ts";

export interface SnapshotKeeperDeps {
  readonly fileUndo: Pick<FileUndo, "finishPending">;
  readonly snapshots: Pick<FileSnapshots, "prune">;
  readonly store: Pick<Store, "reads">;
  readonly report: (bug: Error) => void;
  /** Before a restore whose lock still looks held is tried again. */
  readonly retryMs?: number;
}

const pruneEveryMs = 24 * 60 * 60_000;

/** Finishes restores that a killed process began, and deletes what no session needs any more. */
export function createSnapshotKeeper({
  fileUndo,
  snapshots,
  store,
  report,
  retryMs = staleLockMs,
}: SnapshotKeeperDeps) {
  let timer: NodeJS.Timeout | undefined;
  let retry: NodeJS.Timeout | undefined;
  let work: Promise<unknown> = Promise.resolve();
  let life: "running" | "stopped" = "running";

  function finish(): void {
    work = work.then(finishOrRetry).catch(reportError);
  }

  /** A host that is started right after a kill -9 finds the killed process's lock. */
  async function finishOrRetry(): Promise<void> {
    const state = await fileUndo.finishPending();
    if (state === "busy" && life === "running") retry = setTimeout(finish, retryMs).unref();
  }

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
      finish();
      prune();
      timer = setInterval(prune, pruneEveryMs).unref();
    },
    async stop(): Promise<void> {
      life = "stopped";
      clearInterval(timer);
      clearTimeout(retry);
      await work;
    },
  };
}
