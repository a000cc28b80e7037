import { type BlobObjects, type BlobPlace, type PlacedBlob, StoreFailure } from "@holdfast/engine";
import { mapParallel } from "../util/map-parallel.ts";
import { minObjectBytes, readPlaced } from "./blob-store.ts";
import { bytesBody } from "./object-bodies.ts";
import { newObjectKey } from "./object-keys.ts";
import { type ObjectStorage, ObjectStorageError, type StorageFailure } from "./object-storage.ts";

const page = 100;
const parallel = 4;

export interface MoveProgress {
  readonly blobs: number;
  readonly bytes: number;
}

export interface MoveReport extends MoveProgress {
  /** Blobs whose objects are lost or damaged. They stay as they are. */
  readonly unreadable: readonly { readonly id: string; readonly failure: StorageFailure }[];
}

export interface MoveOptions {
  readonly to: BlobPlace;
  readonly onProgress?: (progress: MoveProgress) => void;
}

/**
 * Moves the bytes of blobs, one blob at a time in its own transaction. It may be stopped or killed at any moment, beside
 * hosts that run: another call moves the rest. Rejects with `StoreFailure` or `ObjectStorageError`.
 */
export async function moveBlobs(
  objects: BlobObjects,
  storage: ObjectStorage,
  { to, onProgress = () => undefined }: MoveOptions,
): Promise<MoveReport> {
  const unreadable: { id: string; failure: StorageFailure }[] = [];
  let [blobs, bytes] = [0, 0];
  const place = to === "objects" ? "rows" : "objects";
  const minBytes = to === "objects" ? minObjectBytes : 0;
  for (let after: PlacedBlob | undefined; ;) {
    const found = await objects.list({
      place,
      minBytes,
      limit: page,
      ...(after === undefined ? {} : { after }),
    });
    await mapParallel(found, parallel, async (blob) => {
      const failure =
        to === "objects"
          ? await moveOut(objects, storage, blob)
          : await moveBack(objects, storage, blob);
      if (failure !== undefined) return void unreadable.push({ id: blob.id, failure });
      blobs += 1;
      bytes += blob.size;
      onProgress({ blobs, bytes });
    });
    after = found.at(-1);
    if (after === undefined) return { blobs, bytes, unreadable };
  }
}

async function moveOut(
  objects: BlobObjects,
  storage: ObjectStorage,
  { owner, id }: PlacedBlob,
): Promise<undefined> {
  for (;;) {
    const stored = await objects.read(owner, id);
    if (stored === null || !("bytes" in stored)) return;
    const { mediaType } = stored;
    const body = bytesBody(stored.bytes);
    if (`blob_${body.sha256}` !== id)
      throw new StoreFailure(
        "blob_unreadable",
        `The bytes of ${id} in the database are damaged. Run holdfast fsck.`,
      );
    const object = { key: newObjectKey(id), owner, id, purpose: "move" } as const;
    if (orThrow(await objects.begin(object)).status === "known") return;
    const put = await storage.put(object.key, body);
    if (!put.ok) throw new ObjectStorageError(put.failure);
    const finished = orThrow(await objects.finish({ ...object, mediaType, size: body.size }));
    if (finished.status === "stored") return;
    await storage.delete(object.key);
  }
}

async function moveBack(
  objects: BlobObjects,
  storage: ObjectStorage,
  { owner, id }: PlacedBlob,
): Promise<StorageFailure | undefined> {
  const read = await readPlaced(objects, storage, owner, id);
  if (read === null) return undefined;
  if ("failure" in read) {
    const { code } = read.failure;
    if (code === "object_missing" || code === "object_damaged") return read.failure;
    throw new ObjectStorageError(read.failure);
  }
  orThrow(await objects.takeBack(owner, id, read.bytes));
  return undefined;
}

function orThrow<T extends { readonly status: string }>(
  result: T,
): Exclude<T, { readonly status: "failed" }> {
  if (result.status === "failed") {
    const { code, message } = result as unknown as StoreFailure;
    throw new StoreFailure(code, message);
  }
  return result as Exclude<T, { readonly status: "failed" }>;
}
