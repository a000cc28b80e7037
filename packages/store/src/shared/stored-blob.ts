import {
  type Blob,
  type BlobRow,
  type RawBlob,
  type StoredBlob,
  StoreFailure,
} from "@holdfast/engine/ports";

/** For readers that know nothing of object storage. */
export function blobInStore(blob: StoredBlob | null): Blob | null {
  if (blob === null || "bytes" in blob) return blob;
  throw new StoreFailure(
    "blob_unreadable",
    `The bytes of ${blob.id} are in object storage, and none is configured. Set objectStorageUrl and the other objectStorage settings as they were.`,
  );
}

/** `null`: the bytes are nowhere. */
export function uncheckedObject(row: BlobRow, object: string | null): RawBlob {
  if (object === null) return { ...row, intact: false, object, problem: "object_missing" };
  return { ...row, intact: true, object, unchecked: "no object storage is configured" };
}
