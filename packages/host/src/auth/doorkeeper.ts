import { ownerId, type OwnerId } from "@holdfast/protocol";
import { digestOf, makeSecret, sameSecret } from "./secret.ts";
import type { KeptSignIns } from "./sign-in-file.ts";

/** Who acts. */
export interface Principal {
  readonly ownerId: OwnerId;
  readonly by: "token" | "sign-in";
}

/** What somebody shows to sign in: the code of a one-time link, or the token itself. */
export type Proof = { readonly code: string } | { readonly token: string };

export interface Credentials {
  readonly authorization: string | undefined;
  readonly signIn: string | undefined;
}

export interface Doorkeeper {
  /** The code of a one-time sign-in link. */
  issueCode(): string;
  /** The value of the sign-in cookie, or nothing when the proof is not good (any more). */
  signIn(proof: Proof): string | undefined;
  signOut(signIn: string): void;
  recognise(credentials: Credentials): Principal | undefined;
}

export const codeLifetimeMs = 10 * 60_000;
export const signInLifetimeMs = 30 * 24 * 3_600_000;

const mostSignIns = 1_000;
const owner = ownerId.parse("owner");

/** Secrets are held as digests. Codes end with the host; sign-ins outlive it where they are kept. */
export function createDoorkeeper(
  token: string,
  now: () => number = Date.now,
  kept?: KeptSignIns,
): Doorkeeper {
  const codes = new Map<string, number>();
  const signIns = new Map(kept?.read());

  function proves(proof: Proof): boolean {
    if ("token" in proof) return sameSecret(proof.token, token);
    const digest = digestOf(proof.code);
    const expiry = codes.get(digest);
    codes.delete(digest);
    return expiry !== undefined && now() < expiry;
  }

  return {
    issueCode() {
      const code = makeSecret();
      codes.set(digestOf(code), now() + codeLifetimeMs);
      return code;
    },

    signIn(proof) {
      if (!proves(proof)) return undefined;
      const secret = makeSecret();
      signIns.set(digestOf(secret), now() + signInLifetimeMs);
      const [oldest] = signIns.keys();
      if (signIns.size > mostSignIns && oldest !== undefined) signIns.delete(oldest);
      kept?.write(signIns);
      return secret;
    },

    signOut(signIn) {
      signIns.delete(digestOf(signIn));
      kept?.write(signIns);
    },

    recognise({ authorization, signIn }) {
      // Who shows a token is judged by it: a wrong one is not mended by a good cookie.
      if (authorization !== undefined) {
        const given = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
        if (given === undefined || !sameSecret(given, token)) return undefined;
        return { ownerId: owner, by: "token" };
      }
      if (signIn === undefined) return undefined;
      const expiry = signIns.get(digestOf(signIn));
      if (expiry === undefined || now() >= expiry) return undefined;
      return { ownerId: owner, by: "sign-in" };
    },
  };
}
