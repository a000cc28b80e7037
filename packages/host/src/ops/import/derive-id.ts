import { createHash } from "node:crypto";
import { type Id, idFromBytes, type IdKind } from "@holdfast/protocol";

/** The same names always give the same id. */
export type DeriveId = <K extends IdKind>(kind: K, ...names: readonly string[]) => Id<K>;

/** Ids of what comes from one kind of source: a second import of the same things recognises them. */
export function deriveIdsFor(source: string, owner: string): DeriveId {
  return (kind, ...names) => idFromBytes(kind, digestOf("import", source, owner, kind, ...names));
}

export function digestOf(...names: readonly string[]): Buffer {
  return createHash("sha256").update(JSON.stringify(names)).digest();
}
