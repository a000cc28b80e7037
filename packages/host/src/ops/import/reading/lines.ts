import type { ExportFile } from "./export-files.ts";

export type Line =
  | { readonly kind: "line"; readonly number: number; readonly bytes: Buffer }
  | { readonly kind: "too_large"; readonly number: number; readonly length: number };

const newline = 0x0a;

/** The lines of a file that aren't empty, of any length, and those that are too long without their bytes. */
export async function* readLines(file: ExportFile, maxBytes: number): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let length = 0;
  let number = 0;
  const add = (part: Buffer): void => {
    length += part.length;
    if (length <= maxBytes) parts.push(part);
    else parts = [];
  };
  function* take(): Generator<Line> {
    number += 1;
    const [taken, total] = [parts, length];
    parts = [];
    length = 0;
    if (total > maxBytes) yield { kind: "too_large", number, length: total };
    else if (total > 1 || (taken[0]?.toString().trim() ?? "") !== "")
      yield { kind: "line", number, bytes: Buffer.concat(taken) };
  }
  for await (const chunk of file.read()) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, from)) {
      add(bytes.subarray(from, end));
      yield* take();
      from = end + 1;
    }
    add(bytes.subarray(from));
  }
  if (length > 0) yield* take();
}
