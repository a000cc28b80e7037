import { type Id, idFromBytes, type IdKind } from "@holdfast/protocol";

/** The same words, the same id: for what must be found again without having been told its name. */
export async function deterministicId<K extends IdKind>(
  kind: K,
  ...words: readonly string[]
): Promise<Id<K>> {
  const bytes = new TextEncoder().encode(JSON.stringify([kind, ...words]));
  return idFromBytes(kind, new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
