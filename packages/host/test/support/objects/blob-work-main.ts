import { openStoreAt, type StoreAddress } from "@holdfast/testing/databases/store-address";
import type { OwnerId } from "@holdfast/protocol";
import { withBlobObjects } from "../../../src/object-storage/blob-store.ts";
import { moveBlobs } from "../../../src/object-storage/move-blobs.ts";
import { openS3Storage, type S3Settings } from "../../../src/object-storage/s3-storage.ts";

/** One piece of work on blobs in a process of its own, which a test kills. */
export interface BlobWork {
  readonly address: StoreAddress;
  readonly settings: S3Settings;
  readonly owner: OwnerId;
  readonly work: "put" | "prune" | "move";
  /** What to put. */
  readonly text?: string;
}

const { address, settings, owner, work, text = "" } = JSON.parse(process.argv[2] ?? "") as BlobWork;
const storage = openS3Storage(settings);
const report = (problem: Error): void => void process.stderr.write(`${problem.message}\n`);
const inner = await openStoreAt(address);
const store = withBlobObjects(inner, { storage, place: "objects", report });
const objects = inner.blobObjects;
if (objects === undefined) throw new Error("This store keeps all blobs itself.");
process.stdout.write("began\n");
if (work === "put") await store.putBlob(owner, Buffer.from(text), "text/plain");
else if (work === "prune") await store.prune(100);
else await moveBlobs(objects, storage, { to: "objects" });
await store.close();
process.stdout.write("done\n");
