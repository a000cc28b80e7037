import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import {
  type ObjectBody,
  type ObjectStorage,
  ObjectStorageError,
  restoreAdvice,
  type StorageResult,
} from "./object-storage.ts";

export function bytesBody(bytes: Uint8Array): ObjectBody {
  const body = new Uint8Array(bytes);
  return {
    size: body.byteLength,
    sha256: createHash("sha256").update(body).digest("hex"),
    open: () => body,
  };
}

/** Reads the file twice: for its digest, which is signed, and to send it. The file must not change meanwhile. */
export async function fileBody(path: string): Promise<ObjectBody> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    size += chunk.byteLength;
  }
  return {
    size,
    sha256: hash.digest("hex"),
    open: () => streamFile(path),
  };
}

/** Reads a piece when it is asked for one; `Readable.toWeb` reads far ahead of a slow server. */
function streamFile(path: string): ReadableStream<Uint8Array> {
  const file = createReadStream(path);
  const pieces = file[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await pieces.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: () => void file.destroy(),
    },
    { highWaterMark: 0 },
  );
}

/** The whole object, checked, if it has at most this many bytes. */
export async function readObject(
  storage: Pick<ObjectStorage, "get">,
  key: string,
  { sha256, maxBytes }: { readonly sha256: string; readonly maxBytes: number },
): Promise<StorageResult<Uint8Array>> {
  const got = await storage.get(key, { sha256 });
  if (!got.ok) return got;
  const { size, body } = got.value;
  if (size > maxBytes) {
    await body.cancel();
    const message = `The object ${key} has ${size} bytes, and at most ${maxBytes} were expected.`;
    return { ok: false, failure: { code: "object_damaged", message, advice: restoreAdvice } };
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  try {
    for await (const chunk of body) {
      bytes.set(chunk, at);
      at += chunk.byteLength;
    }
  } catch (error) {
    if (error instanceof ObjectStorageError) return { ok: false, failure: error.failure };
    throw error;
  }
  return { ok: true, value: bytes };
}
