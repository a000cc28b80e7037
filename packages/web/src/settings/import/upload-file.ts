import type { Client, Result } from "@holdfast/client";
import { importPieceBytes } from "@holdfast/protocol";

export interface UploadedFile {
  /** On the host, for the import. */
  readonly path: string;
}

/** Sends a file in pieces: none is held in memory as a whole, and a lost connection costs one piece. */
export async function uploadFile(
  client: Client,
  file: File,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (share: number) => void },
): Promise<Result<UploadedFile>> {
  const params = { id: crypto.randomUUID() };
  for (let at = 0; ;) {
    const body = file.slice(at, at + importPieceBytes);
    const query = { at, name: file.name.slice(-200) };
    const mediaType = "application/octet-stream";
    const sent = await client.uploadImport({ params, query, body, mediaType }, { signal });
    if (!sent.ok) return sent;
    at = sent.value.bytes;
    onProgress(at / file.size);
    if (at >= file.size) return { ok: true, value: { path: sent.value.path } };
  }
}
