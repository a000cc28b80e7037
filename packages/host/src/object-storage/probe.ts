import { randomBytes, randomUUID } from "node:crypto";
import { bytesBody, readObject } from "./object-bodies.ts";
import type { ObjectStorage, StorageResult } from "./object-storage.ts";

/** Puts one small object, reads it back, finds it in a listing and deletes it: what everything else needs. */
export async function probeObjectStorage(storage: ObjectStorage): Promise<StorageResult<void>> {
  const key = `probe/${randomUUID()}`;
  const body = bytesBody(randomBytes(64));
  const put = await storage.put(key, body);
  if (!put.ok) return put;
  const read = await readObject(storage, key, { sha256: body.sha256, maxBytes: body.size });
  const listed = await storage.list("probe/");
  const deleted = await storage.delete(key);
  if (!read.ok) return read;
  if (!listed.ok) return listed;
  return deleted;
}
