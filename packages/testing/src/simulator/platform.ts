/**
 * The engine hashes with the platform's digest, which answers from another thread whenever that is done: the one thing
 * that it waits for and that is no port. While a simulation runs, it answers at once, from the bytes alone.
 */
export async function withSyncDigest<T>(work: () => Promise<T>): Promise<T> {
  const { subtle } = crypto;
  const before = Object.getOwnPropertyDescriptor(subtle, "digest");
  const digest = (_algorithm: unknown, data: BufferSource): Promise<ArrayBuffer> =>
    Promise.resolve(syncDigest(data));
  Object.defineProperty(subtle, "digest", { value: digest, configurable: true });
  try {
    return await work();
  } finally {
    if (before === undefined) Reflect.deleteProperty(subtle, "digest");
    else Object.defineProperty(subtle, "digest", before);
  }
}

/** 256 bits by FNV-1a, from eight beginnings. Nobody attacks a simulation. */
function syncDigest(data: BufferSource): ArrayBuffer {
  const bytes = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
  const words = Uint32Array.from({ length: 8 }, (_, index) => 0x811c9dc5 ^ (index * 0x9e3779b1));
  for (const byte of bytes)
    for (const [index, word] of words.entries()) words[index] = Math.imul(word ^ byte, 0x01000193);
  return words.buffer;
}
