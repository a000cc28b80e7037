import type { Store } from "@holdfast/engine";
import { type OwnerId, seq, type SessionId } from "@holdfast/protocol";
import { z } from "zod";
import { type AuditKey, isSignedBy, keyIdOf } from "./audit-key.ts";

/** "At this time the log ended with this event", signed by a host. */
export const signedHead = z.object({
  seq,
  hash: z.string().max(100),
  at: z.int().nonnegative(),
  publicKey: z.string().max(200),
  signature: z.string().max(200),
});
export type SignedHead = z.infer<typeof signedHead>;

type Head = Pick<SignedHead, "seq" | "hash" | "at">;

function textOf(session: string, { seq: last, hash, at }: Head): string {
  return `holdfast head 1\n${session}\n${last}\n${hash}\n${at}`;
}

export function signHead(key: AuditKey, session: SessionId, head: Head): SignedHead {
  const { publicKey } = key;
  return { ...head, publicKey, signature: key.sign(textOf(session, head)) };
}

export function isHeadSigned(session: string, head: SignedHead): boolean {
  return isSignedBy(head.publicKey, textOf(session, head), head.signature);
}

export function signerOf({ publicKey }: Pick<SignedHead, "publicKey">): string {
  return keyIdOf(publicKey);
}

const registerKey = (session: SessionId): string => `signed-head/${session}`;

export async function readSignedHead(
  store: Pick<Store, "register">,
  owner: OwnerId,
  session: SessionId,
): Promise<{ readonly head: SignedHead | null; readonly revision: number }> {
  const row = await store.register.read(owner, registerKey(session));
  if (row === null) return { head: null, revision: 0 };
  return { head: parseHead(row.value), revision: row.revision };
}

function parseHead(value: string): SignedHead | null {
  try {
    return signedHead.safeParse(JSON.parse(value)).data ?? null;
  } catch {
    return null;
  }
}

/** Signs where the log ends now. Nothing is signed of a log that is not linked. */
export async function signCurrentHead(
  store: Pick<Store, "register" | "audit" | "now">,
  key: AuditKey,
  owner: OwnerId,
  session: SessionId,
): Promise<SignedHead | null> {
  const end = await store.audit.logEnd(session);
  if (end === null || end.hash === null) return null;
  const { head: earlier, revision } = await readSignedHead(store, owner, session);
  if (earlier?.hash === end.hash && earlier.publicKey === key.publicKey) return earlier;
  const current = { seq: seq.parse(end.seq), hash: end.hash, at: await store.now() };
  const head = signHead(key, session, current);
  const value = JSON.stringify(head);
  // Another host that was faster has signed the same log.
  await store.register.put({ owner, key: registerKey(session), value, expect: revision });
  return head;
}
