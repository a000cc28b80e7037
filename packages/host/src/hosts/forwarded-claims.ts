import { createHash, randomUUID } from "node:crypto";
import { ownerId } from "@holdfast/protocol";
import { z } from "zod";
import { type Keyring, sealedSecret } from "../ops/secrets/secrets-key.ts";
import type { Principal } from "../server/auth/principal.ts";

/** A request that one host passes on to another, and for whom. */
export const forwardedHeader = "x-holdfast-forwarded";
/** Names the host in its answers to such requests: nothing else answers with the right id. */
export const answeredByHeader = "x-holdfast-answered-by";

const claims = z.strictObject({
  from: z.string(),
  to: z.string(),
  at: z.int(),
  nonce: z.string(),
  method: z.string(),
  /** Below the base path, with the query. */
  path: z.string(),
  /** The digest of the body. */
  body: z.string(),
  principal: z.strictObject({
    ownerId,
    by: z.enum(["token", "sign-in", "api-key"]),
    signInId: z.string().optional(),
    apiKey: z.strictObject({ id: z.string(), name: z.string(), profile: z.string() }).optional(),
    isFresh: z.boolean(),
  }),
});
export type Claims = z.infer<typeof claims>;

/** Authenticated, so that a secret of the store cannot stand for a request. */
const about = "forwarded request";
/** How long a request may be on its way, by the store's clock. */
const lifetimeMs = 60_000;
const maxHeaderLength = 8 * 1024;

export const digestBody = (body: Uint8Array): string =>
  createHash("sha256").update(body).digest("base64url");

export function signClaims(
  keyring: Keyring,
  request: Pick<Claims, "from" | "to" | "at" | "method" | "path" | "body">,
  { ownerId: owner, by, signInId, apiKey, isFresh }: Principal,
): string {
  const principal = { ownerId: owner, by, signInId, apiKey, isFresh };
  const text = JSON.stringify({ ...request, nonce: randomUUID(), principal });
  return Buffer.from(JSON.stringify(keyring.seal(about, text))).toString("base64url");
}

/** Opens what another host has signed, once. Asks for the time only then: anybody can send a header. */
export function createClaimReader(
  keyring: Keyring,
): (
  header: string,
  expected: Pick<Claims, "to" | "method" | "path">,
  now: () => Promise<number>,
) => Promise<Claims | null> {
  const seen = new Map<string, number>();

  function isNew({ nonce, at }: Claims, now: number): boolean {
    // In order of arrival, and all live equally long.
    for (const [old, until] of seen) {
      if (until >= now) break;
      seen.delete(old);
    }
    if (seen.has(nonce)) return false;
    seen.set(nonce, Math.max(at, now) + 2 * lifetimeMs);
    return true;
  }

  return async (header, expected, now) => {
    const found = open(keyring, header);
    const isFor =
      found?.to === expected.to && found.method === expected.method && found.path === expected.path;
    if (!isFor) return null;
    const at = await now();
    return Math.abs(at - found.at) <= lifetimeMs && isNew(found, at) ? found : null;
  };
}

function open(keyring: Keyring, header: string): Claims | null {
  if (header.length > maxHeaderLength) return null;
  try {
    const sealed = sealedSecret.parse(
      JSON.parse(Buffer.from(header, "base64url").toString("utf8")),
    );
    if (!keyring.has(sealed.key)) keyring.reload();
    const text = keyring.unseal(about, sealed);
    return text === null ? null : claims.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** What the forwarding host has checked; this host checks the rights of the same person again. */
export function principalOf({ principal }: Claims): Principal {
  const { ownerId: owner, by, signInId, apiKey, isFresh } = principal;
  return {
    ownerId: owner,
    by,
    ...(signInId !== undefined && { signInId }),
    ...(apiKey !== undefined && { apiKey }),
    isFresh,
    revoked: new AbortController().signal,
    isStillValid: () => true,
  };
}
