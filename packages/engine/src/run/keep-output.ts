import type { BlobId, OwnerId } from "@holdfast/protocol";

import type { Store } from "../ports/store.ts";
import { truncateToBytes, jsonSize } from "./sizes.ts";

/** What is larger goes to a blob, once; its beginning and its end stay in the row. In bytes, as it is stored. */
const maxRowBytes = 64 * 1024;
const headLength = 12 * 1024;
const tailLength = 4 * 1024;
/** Control characters are stored in six bytes each; the results of all calls of a step go into one commit. */
const maxHeadBytes = 3 * headLength + 2;

export interface StoredOutput {
  readonly output: string;
  readonly blobId?: BlobId;
}

/**
 * A tool's output as it is kept. What is left out of the row is named in it, for the person and for the model. A blob
 * that cannot be put costs the middle of the output, and the row says so.
 */
export async function storeOutput(
  store: Pick<Store, "putBlob">,
  owner: OwnerId,
  output: string,
): Promise<StoredOutput> {
  // A character is stored in one to six bytes: most output is decided without making its bytes.
  if (output.length * 6 + 2 <= maxRowBytes || jsonSize(output) <= maxRowBytes) return { output };
  const bytes = new TextEncoder().encode(output);
  const put = await store.putBlob(owner, bytes, "text/plain; charset=utf-8");
  const whole =
    put.status === "stored" ? `the whole is kept as ${put.id}` : "it could not be kept and is lost";
  const note = `[${bytes.byteLength} bytes in all. The middle is left out here; ${whole}.]`;
  const head = truncateToBytes(output.slice(0, headLength), maxHeadBytes).toWellFormed();
  const tail = output.slice(-tailLength).toWellFormed();
  return {
    output: `${head}\n\n${note}\n\n${tail}`,
    ...(put.status === "stored" && { blobId: put.id }),
  };
}
