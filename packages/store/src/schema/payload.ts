import { crc32 } from "node:zlib";
import { createHash } from "node:crypto";
import { type StoredEvent, blobId, type BlobId } from "@holdfast/protocol";

/** An event's data as stored: JSON text, and a checksum that detects a damaged row. */
export interface Payload {
  readonly text: string;
  readonly sum: number;
}

export function encodePayload(data: StoredEvent["data"]): Payload {
  const text = JSON.stringify(data);
  return { text, sum: crc32(text) };
}

export type DecodedPayload =
  | { readonly status: "intact"; readonly data: StoredEvent["data"] }
  | { readonly status: "damaged"; readonly problem: string };

/** Returns the problem instead of throwing: a damaged row is reported and skipped, and never fails a read. */
export function decodePayload(text: string, sum: number): DecodedPayload {
  if (crc32(text) !== sum) return { status: "damaged", problem: "the checksum does not match" };
  try {
    const data: unknown = JSON.parse(text);
    if (isObject(data)) return { status: "intact", data };
    return { status: "damaged", problem: "it is not a JSON object" };
  } catch {
    return { status: "damaged", problem: "it is not JSON" };
  }
}

function isObject(value: unknown): value is StoredEvent["data"] {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Blobs are content-addressed. */
export function blobIdOf(bytes: Uint8Array): BlobId {
  return blobId.parse(`blob_${createHash("sha256").update(bytes).digest("hex")}`);
}
