import { type Id, idFromBytes, type IdKind } from "@holdfast/protocol";

/**
 * 64 bits that tell texts apart, in two lanes with different mixing. It is fast and synchronous, and not
 * collision-resistant against an attacker.
 */
export function shortHash(text: string): string {
  let first = 0x811c9dc5;
  let second = 0x9747b28c;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    first = Math.imul(first ^ unit, 0x01000193);
    second = Math.imul(((second << 5) | (second >>> 27)) ^ unit, 0x85ebca6b);
  }
  return hex(mixBits(first ^ text.length)) + hex(mixBits(second + first));
}

/** Makes every bit depend on every other. */
function mixBits(lane: number): number {
  let bits = lane;
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return bits ^ (bits >>> 16);
}

function hex(lane: number): string {
  return (lane >>> 0).toString(16).padStart(8, "0");
}

const encoder = new TextEncoder();

export async function sha256OfJson(value: unknown): Promise<string> {
  const bytes = encoder.encode(JSON.stringify(value));
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The same parts give the same id: for rows that must be found again without having stored their id. */
export async function deterministicId<K extends IdKind>(
  kind: K,
  ...parts: readonly string[]
): Promise<Id<K>> {
  const bytes = new TextEncoder().encode(JSON.stringify([kind, ...parts]));
  return idFromBytes(kind, new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
