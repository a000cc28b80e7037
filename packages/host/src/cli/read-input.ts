import { fstatSync } from "node:fs";
import type { Input } from "./command.ts";

/** Whether something was piped in, or a file put in the place of the keyboard. */
export function isPiped(input: Input): boolean {
  if (input.isTTY === true) return false;
  try {
    const kind = fstatSync(0);
    return kind.isFIFO() || kind.isFile() || kind.isSocket();
  } catch {
    return false;
  }
}

export async function readAll(input: Input): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk as Uint8Array | string));
  return Buffer.concat(chunks).toString("utf8");
}
