import { ownerId } from "@holdfast/protocol";
import type { Store } from "@holdfast/engine";
import type { ApiKeys } from "./api-keys.ts";
import type { Principal } from "./principal.ts";
import { createSecretMatcher, digestSecret, generateSecret } from "./secret-digest.ts";
import { openSignInCodes } from "./sign-in-codes.ts";
import { openStoredSignIns, type StoredSignIn, type StoredSignIns } from "./stored-sign-ins.ts";

/** What a client presents to sign in: the code of a one-time link, or the token itself. */
export type Proof = { readonly code: string } | { readonly token: string };

/**
 * Cookies ignore ports: another server on the host's name receives the sign-in's cookie. Only pages of this very origin
 * know the page key, which they send as a header with each request. An image or a download has no headers; it shows the
 * link key, derived from the page key and good for nothing else.
 */
export interface Credentials {
  readonly authorization: string | undefined;
  /** The cookie. */
  readonly signIn: string | undefined;
  readonly pageKey?: string | undefined;
  /** Given for routes that links lead to. */
  readonly linkKey?: string | undefined;
}

/** Who signs in. */
export interface SigningIn {
  /** The user agent. */
  readonly about?: string;
  /** `none`: a program, which sends its cookie to nobody else. `later`: a browser that has not sent one yet. */
  readonly page?: { readonly key: string } | "none" | "later";
}

/** A sign-in as its owner sees it. */
export interface SignIn {
  readonly id: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** The user agent. */
  readonly about: string;
}

/** Signs one browser in, once. */
export interface SignInCode {
  readonly code: string;
  readonly expiresAt: number;
}

/** Changes reject with a `StoreFailure` if they cannot be stored. */
export interface Authenticator {
  issueSignInCode(): Promise<SignInCode>;
  /** The value of the sign-in cookie, or `undefined` if the proof is invalid or expired. */
  signIn(proof: Proof, client?: SigningIn): Promise<string | undefined>;
  /** The same after a proof that was verified elsewhere. */
  createSignIn(client: SigningIn): Promise<string>;
  /** Binds a sign-in that has no page key yet to this one. Returns whether it had none. */
  bindPage(signIn: string, pageKey: string): Promise<boolean>;
  signOut(signIn: string): Promise<void>;
  /** Rejects with a `StoreFailure` if a sign-in that is unknown here cannot be looked up. */
  authenticate(credentials: Credentials): Promise<Principal | undefined>;
  /** Newest first. */
  signIns(): Promise<readonly SignIn[]>;
  /** Ends a sign-in and everything that depends on its signal. */
  revoke(id: string): Promise<"revoked" | "not_found">;
  /** Ends all sign-ins but the given one. */
  revokeOthers(id: string | undefined): Promise<void>;
}

export const codeLifetimeMs = 10 * 60_000;
export const signInLifetimeMs = 30 * 24 * 3_600_000;

const maxAboutLength = 200;
export const owner = ownerId.parse("owner");

interface ActiveSignIn {
  readonly stored: StoredSignIn;
  readonly revocation: AbortController;
}

export interface AuthenticatorDeps {
  readonly token: string;
  readonly store: Pick<Store, "kind" | "register">;
  /** Without them there are none. */
  readonly apiKeys?: Pick<ApiKeys, "find">;
  readonly now?: () => number;
}

/** Codes and sign-ins are in the store, as digests. */
export function createAuthenticator({
  token,
  store,
  apiKeys,
  now = Date.now,
}: AuthenticatorDeps): Authenticator & { readonly stored: StoredSignIns } {
  const active = new Map<string, ActiveSignIn>();
  /** Ended here: they stay ended, even if the store could not record it. */
  const ended = new Set<string>();
  const forever = new AbortController().signal;
  const isToken = createSecretMatcher(token);
  const tokenDigest = digestSecret(token);
  const signIns = openStoredSignIns({ store, owner, tokenDigest, now, onChange: apply });
  const codes = openSignInCodes({ store, owner, tokenDigest, now });

  function apply(stored: readonly StoredSignIn[]): void {
    const known = new Set(stored.map(({ digest }) => digest));
    for (const digest of active.keys()) if (!known.has(digest)) end(digest);
    for (const signIn of stored) {
      const { digest } = signIn;
      if (ended.has(digest)) continue;
      const revocation = active.get(digest)?.revocation ?? new AbortController();
      active.set(digest, { stored: signIn, revocation });
    }
  }

  function end(digest: string): void {
    active.get(digest)?.revocation.abort();
    active.delete(digest);
  }

  async function endForGood(isEnded: (signIn: StoredSignIn) => boolean): Promise<void> {
    for (const [digest, { stored }] of active)
      if (isEnded(stored)) {
        ended.add(digest);
        end(digest);
      }
    await signIns.remove(isEnded);
  }

  async function verifyProof(proof: Proof): Promise<boolean> {
    return "token" in proof ? isToken(proof.token) : codes.take(digestSecret(proof.code));
  }

  async function createSignIn({ about = "", page = "none" }: SigningIn): Promise<string> {
    const secret = generateSecret();
    const createdAt = now();
    await signIns.add({
      id: generateSecret().slice(0, 16),
      digest: digestSecret(secret),
      token: tokenDigest,
      ...(page !== "later" && { page: page === "none" ? null : pageDigest(page.key) }),
      createdAt,
      expiresAt: createdAt + signInLifetimeMs,
      about: about.slice(0, maxAboutLength),
    });
    return secret;
  }

  function find(digest: string): ActiveSignIn | undefined {
    const entry = active.get(digest);
    return entry === undefined || now() >= entry.stored.expiresAt ? undefined : entry;
  }

  /** A sign-in that is unknown here may have been made at another host a moment ago. */
  async function lookUp(digest: string): Promise<ActiveSignIn | undefined> {
    await signIns.refresh();
    const known = find(digest);
    if (known !== undefined || ended.has(digest)) return known;
    await signIns.reload();
    return find(digest);
  }

  function byToken(): Principal {
    return {
      ownerId: owner,
      by: "token",
      isFresh: true,
      revoked: forever,
      isStillValid: () => true,
    };
  }

  async function byApiKey(secret: string): Promise<Principal | undefined> {
    const found = await apiKeys?.find(secret);
    if (found === undefined) return undefined;
    const { id, name, profile } = found.key;
    return {
      ownerId: found.owner,
      by: "api-key",
      apiKey: { id, name, profile },
      isFresh: false,
      revoked: found.revoked,
      isStillValid: found.isStillValid,
    };
  }

  async function bySignIn(signIn: string, credentials: Credentials) {
    const digest = digestSecret(signIn);
    let entry = await lookUp(digest);
    if (entry !== undefined && isUnbound(entry.stored)) {
      // Its page may have been bound at another host a moment ago.
      await signIns.reload();
      entry = find(digest);
    }
    if (entry === undefined || !isOfPage(entry.stored, credentials)) return undefined;
    const { id: signInId, createdAt } = entry.stored;
    const { pageKey } = credentials;
    return {
      ownerId: owner,
      by: "sign-in",
      signInId,
      ...(pageKey !== undefined && { linkKey: digestSecret(pageKey) }),
      isFresh: now() - createdAt < codeLifetimeMs,
      revoked: entry.revocation.signal,
      isStillValid() {
        void signIns.refresh();
        return find(digest) !== undefined;
      },
    } satisfies Principal;
  }

  return {
    stored: signIns,

    async issueSignInCode() {
      const code = generateSecret();
      const expiresAt = now() + codeLifetimeMs;
      await codes.add(digestSecret(code), expiresAt);
      return { code, expiresAt };
    },

    signIn: async (proof, client = {}) =>
      (await verifyProof(proof)) ? createSignIn(client) : undefined,
    createSignIn,

    async bindPage(signIn, pageKey) {
      const entry = await lookUp(digestSecret(signIn));
      if (entry === undefined) return false;
      return signIns.bindPage(entry.stored.id, pageDigest(pageKey));
    },

    async signOut(signIn) {
      const digest = digestSecret(signIn);
      await endForGood((stored) => stored.digest === digest);
    },

    async authenticate(credentials) {
      const { authorization, signIn } = credentials;
      // A token takes precedence: a valid cookie does not make up for a wrong one.
      if (authorization !== undefined) {
        const given = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
        if (given === undefined) return undefined;
        return isToken(given) ? byToken() : byApiKey(given);
      }
      return signIn === undefined ? undefined : bySignIn(signIn, credentials);
    },

    async signIns() {
      await signIns.refresh();
      return signIns.current().toReversed().map(viewOf);
    },

    async revoke(id) {
      await signIns.reload();
      if (!signIns.current().some((stored) => stored.id === id)) return "not_found";
      await endForGood((stored) => stored.id === id);
      return "revoked";
    },

    async revokeOthers(id) {
      await signIns.reload();
      await endForGood((stored) => stored.id !== id);
    },
  };
}

/** The link key is the digest of the page key, and its own digest is stored: each verifies without being revealed. */
function pageDigest(pageKey: string): string {
  return digestSecret(digestSecret(pageKey));
}

/** From before there were page keys, or of a program that has yet to open a page. */
function isUnbound({ page }: StoredSignIn): boolean {
  return page === undefined;
}

function isOfPage({ page }: StoredSignIn, { pageKey, linkKey }: Credentials): boolean {
  if (page === null) return true;
  const shown = pageKey === undefined ? linkKey : digestSecret(pageKey);
  return page !== undefined && shown !== undefined && digestSecret(shown) === page;
}

function viewOf({ id, createdAt, expiresAt, about }: StoredSignIn): SignIn {
  return { id, createdAt, expiresAt, about };
}
