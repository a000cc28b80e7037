import { sha256 } from "./sha256.ts";

/** In bytes: what is longer is worth the way to another thread and back. */
const short = 4_096;
const encoder = new TextEncoder();

/** The SHA-256 of a value's JSON text, in hexadecimal. */
export async function hashOf(value: unknown): Promise<string> {
  const bytes = encoder.encode(JSON.stringify(value));
  if (bytes.length <= short) return sha256(bytes);
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
