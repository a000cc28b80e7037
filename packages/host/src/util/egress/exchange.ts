import type { IncomingMessage } from "node:http";
import { pipeline, type Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

import { type EgressResult, fetched, refused } from "./check-url.ts";

export interface BodyLimits {
  /** Of the body as it is after decompression. */
  readonly mostBytes: number;
  /** What becomes of a body that is longer. */
  readonly whenLarger: "cut" | "refuse";
}

export interface Body {
  readonly bytes: Uint8Array;
  readonly isCut: boolean;
}

const decoders = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const;

export const acceptedEncodings = "gzip, deflate, br";

/**
 * Reads a body piece by piece and stops at the limit, which counts what comes out of the decompression: of a bomb no
 * more is made than what is kept.
 */
export async function readBody(
  response: IncomingMessage,
  { mostBytes, whenLarger }: BodyLimits,
): Promise<EgressResult<Body>> {
  const plain = decompressed(response);
  if (plain === null) {
    response.destroy();
    return refused("encoding", "The answer is packed in a way that is not unpacked here.");
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of plain as AsyncIterable<Buffer>) {
      pieces.push(piece);
      size += piece.byteLength;
      if (size <= mostBytes) continue;
      if (whenLarger === "refuse")
        return refused("too_large", `The answer is larger than ${mostBytes} bytes.`);
      return fetched({ bytes: Buffer.concat(pieces).subarray(0, mostBytes), isCut: true });
    }
    return fetched({ bytes: Buffer.concat(pieces), isCut: false });
  } finally {
    plain.destroy();
    response.destroy();
  }
}

/** One packing at most: a list of them is nobody's honest answer. */
function decompressed(response: IncomingMessage): Readable | null {
  const encoding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") return response;
  if (!Object.hasOwn(decoders, encoding)) return null;
  const unpack = decoders[encoding as keyof typeof decoders]();
  // An error of either side reaches whoever reads.
  return pipeline(response, unpack, () => undefined);
}
