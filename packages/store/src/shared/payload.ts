import { crc32 } from "node:zlib";

import { jsonObject, type StoredEvent } from "@holdfast/protocol";

/** An event's data as it lies in the store: JSON text, and a checksum that finds a damaged row. */
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

/** For `fsck` and every read that can skip a row: says what is wrong instead of throwing. */
export function decodePayload(text: string, sum: number): DecodedPayload {
  if (crc32(text) !== sum) return { status: "damaged", problem: "the checksum does not match" };
  try {
    const data = jsonObject.safeParse(JSON.parse(text));
    if (data.success) return { status: "intact", data: data.data };
  } catch {
    return { status: "damaged", problem: "it is not JSON" };
  }
  return { status: "damaged", problem: "it is not a JSON object" };
}
