import {
  type Audit,
  type Blob,
  type BlobElsewhere,
  type BlobObjects,
  type BlobPlace,
  type PutBlobResult,
  type RawBlob,
  type Reads,
  type Store,
  StoreFailure,
} from "@holdfast/engine";
import type { BlobId, OwnerId } from "@holdfast/protocol";
import { deleteGarbage } from "./delete-garbage.ts";
import { bytesBody, readObject } from "./object-bodies.ts";
import { newObjectKey } from "./object-keys.ts";
import {
  type ObjectStorage,
  type StorageFailure,
  type StorageResult,
  textOfFailure,
} from "./object-storage.ts";

export const minObjectBytes = 64 * 1024;
const maxTries = 3;

export interface BlobStoreOptions {
  readonly storage: ObjectStorage;
  /** Where new blobs go. Blobs are read wherever they are. */
  readonly place: BlobPlace;
  /** Smaller blobs stay in the database: a request costs more than they do. */
  readonly minBytes?: number;
  /** Told once of each blob that is lost, and when objects can't be deleted. */
  readonly report: (problem: Error) => void;
}

/** The same store, with the bytes of large blobs in object storage. The store's rows say which ones. */
export function withBlobObjects(store: Store, options: BlobStoreOptions): Store {
  const { blobObjects: objects } = store;
  if (objects === undefined) return store;
  const { storage, report, minBytes = minObjectBytes } = options;
  const lost = new Set<string>();
  let deletionFailure: string | undefined;

  async function blob(owner: OwnerId, id: BlobId): Promise<Blob | null> {
    const found = await readPlaced(objects!, storage, owner, id);
    if (found === null || "bytes" in found) return found;
    const { code, message } = found.failure;
    if (code !== "object_missing" && code !== "object_damaged")
      throw new StoreFailure("store_unavailable", message);
    const failure = new StoreFailure("blob_unreadable", `${id}: ${textOfFailure(found.failure)}`);
    if (!lost.has(id)) report(failure);
    lost.add(id);
    throw failure;
  }

  async function prune(limit: number): ReturnType<Store["prune"]> {
    const pruned = await store.prune(limit);
    const deleted = await deleteGarbage(objects!, storage);
    if (!deleted.ok && deletionFailure !== deleted.failure.code)
      report(
        new Error(
          `Objects that nothing refers to could not be deleted yet: ${textOfFailure(deleted.failure)}`,
        ),
      );
    deletionFailure = deleted.ok ? undefined : deleted.failure.code;
    return pruned;
  }

  const reads: Reads = replaceMembers(store.reads, { blob });
  const audit: Audit = replaceMembers(store.audit, {
    blobs: () => checkedBlobs(store.audit.blobs(), storage),
  });
  return replaceMembers(store, {
    reads,
    audit,
    prune,
    putBlob: (owner, bytes, mediaType) =>
      options.place === "rows" || bytes.byteLength < minBytes
        ? store.putBlob(owner, bytes, mediaType)
        : putObject(objects, storage, { owner, bytes, mediaType }),
  });
}

async function putObject(
  objects: BlobObjects,
  storage: ObjectStorage,
  { owner, bytes, mediaType }: { owner: OwnerId; bytes: Uint8Array; mediaType: string },
): Promise<PutBlobResult> {
  const body = bytesBody(bytes);
  const id = `blob_${body.sha256}` as BlobId;
  const { size } = body;
  for (let tries = 1; tries <= maxTries; tries += 1) {
    const object = { key: newObjectKey(id), owner, id, purpose: "put" } as const;
    const begun = await objects.begin(object);
    if (begun.status === "failed") return begun;
    if (begun.status === "known") return { status: "stored", id, size };
    const put = await storage.put(object.key, body);
    if (!put.ok)
      return { status: "failed", code: "store_unavailable", message: textOfFailure(put.failure) };
    const finished = await objects.finish({ ...object, mediaType, size });
    if (finished.status === "failed") return finished;
    if (finished.status === "stored") return { status: "stored", id, size };
    // It may have arrived after it was given up and deleted.
    await storage.delete(object.key);
  }
  const message = "Object storage took too long each time. Check its load, and try again.";
  return { status: "failed", code: "store_busy", message };
}

/** The blob, wherever its bytes are. An object that has just been replaced is read in its new place. */
export async function readPlaced(
  objects: BlobObjects,
  storage: ObjectStorage,
  owner: OwnerId,
  id: BlobId,
): Promise<Blob | { readonly failure: StorageFailure } | null> {
  let seen: string | undefined;
  for (;;) {
    const stored = await objects.read(owner, id);
    if (stored === null || "bytes" in stored) return stored;
    const { mediaType, object } = stored;
    const read = await readBytes(storage, stored);
    if (read.ok) return { id, mediaType, bytes: read.value };
    if (object === seen) return { failure: read.failure };
    seen = object;
  }
}

function readBytes(
  storage: ObjectStorage,
  { id, size, object }: Omit<BlobElsewhere, "mediaType">,
): Promise<StorageResult<Uint8Array>> {
  return readObject(storage, object, { sha256: id.slice("blob_".length), maxBytes: size });
}

/** Reads every object. Once the storage fails, the rest is passed on unchecked. */
async function* checkedBlobs(
  blobs: AsyncIterable<RawBlob>,
  storage: ObjectStorage,
): AsyncGenerator<RawBlob> {
  let unchecked: string | undefined;
  for await (const { unchecked: _, ...blob } of blobs) {
    const { id, size, object } = blob;
    if (object === undefined || object === null) yield blob;
    else if (unchecked !== undefined) yield { ...blob, unchecked };
    else {
      const read = await readBytes(storage, { id, size, object });
      if (read.ok) yield blob;
      else if (read.failure.code === "object_missing" || read.failure.code === "object_damaged")
        yield { ...blob, intact: false, problem: read.failure.code };
      else {
        unchecked = textOfFailure(read.failure);
        yield { ...blob, unchecked };
      }
    }
  }
}

/** A store's methods may be on its prototype and use private fields. */
function replaceMembers<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get(inner, name) {
      const own: unknown = Reflect.get(members, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(inner, name);
      return typeof value === "function" ? (value.bind(inner) as unknown) : value;
    },
  });
}
