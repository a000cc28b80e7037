import type { BlobObjects } from "@holdfast/engine";
import { mapParallel } from "../util/map-parallel.ts";
import { isBlobKey } from "./object-keys.ts";
import type { ObjectStorage, StorageFailure, StorageResult } from "./object-storage.ts";

const batch = 100;
const parallel = 4;

/**
 * Deletes the objects that the store has given up, from storage first and then from the store: whoever is killed in
 * between is followed by somebody who does it again. Several hosts may do so at once.
 */
export async function deleteGarbage(
  objects: BlobObjects,
  storage: Pick<ObjectStorage, "delete">,
): Promise<StorageResult<number>> {
  let deleted = 0;
  for (;;) {
    const found = await objects.garbage(batch);
    // The store's own failures are noticed where it is pruned.
    if (found.status === "failed" || found.keys.length === 0) return { ok: true, value: deleted };
    const gone: string[] = [];
    let failure: StorageFailure | undefined;
    await mapParallel(found.keys, parallel, async (key) => {
      if (failure !== undefined) return;
      const result = await storage.delete(key);
      if (result.ok) gone.push(key);
      else failure = result.failure;
    });
    if (gone.length > 0) {
      const forgotten = await objects.forget(gone);
      if (forgotten.status === "failed") return { ok: true, value: deleted };
      deleted += gone.length;
    }
    if (failure !== undefined) return { ok: false, failure };
  }
}

const oldEnoughMs = 24 * 60 * 60 * 1000;

/**
 * Deletes objects below our prefix that no row records, once they are a day old: what a restored database doesn't know.
 * Only for a bucket and prefix that no other store uses.
 */
export async function deleteUnrecorded(
  objects: BlobObjects,
  storage: ObjectStorage,
  now: number,
): Promise<StorageResult<{ readonly seen: number; readonly deleted: number }>> {
  let [seen, deleted] = [0, 0];
  let after: string | undefined;
  do {
    const page = await storage.list("blobs/", after);
    if (!page.ok) return page;
    seen += page.value.objects.length;
    const old = page.value.objects.filter(({ modifiedAt }) => now - modifiedAt >= oldEnoughMs);
    const ours = old.map(({ key }) => key).filter(isBlobKey);
    const unrecorded = await objects.unrecorded(ours);
    for (const key of unrecorded) {
      const result = await storage.delete(key);
      if (!result.ok) return result;
      deleted += 1;
    }
    after = page.value.next;
  } while (after !== undefined);
  return { ok: true, value: { seen, deleted } };
}
