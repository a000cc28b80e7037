import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ownerId, type OwnerId } from "@holdfast/protocol";

/** 256 random bits in 43 characters that need no escaping. */
export function generateSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Only digests are kept, so a memory dump or a backup does not reveal secrets. */
function digestSecret(secret: string): string {
  return hash("sha256", secret, "base64url");
}

/** Takes constant time, whatever the position of the first difference or the length. */
function createSecretMatcher(expected: string): (given: string) => boolean {
  const expectedHash = hash("sha256", expected, "buffer");
  return (given) => timingSafeEqual(hash("sha256", given, "buffer"), expectedHash);
}

const storedSignIn = z.object({
  id: z.string(),
  createdAt: z.number(),
  expiresAt: z.number(),
  about: z.string(),
});
export type StoredSignIn = z.infer<typeof storedSignIn>;

/** Persists sign-ins across restarts, as digests. */
export interface SignInFile {
  read(): ReadonlyMap<string, StoredSignIn>;
  /**
   * What another host on this home has written since, or `undefined`. `now and then` checks at most once per interval.
   */
  readIfChanged(when: "now" | "now and then"): ReadonlyMap<string, StoredSignIn> | undefined;
  /**
   * If an `ended` sign-in cannot be recorded, the file is removed: an ended sign-in must not come back at the next
   * start.
   */
  write(signIns: ReadonlyMap<string, StoredSignIn>, reason: "began" | "ended"): void;
}

const storedFile = z.object({ token: z.string(), signIns: z.record(z.string(), storedSignIn) });

/** Checking the file is cheap, but not so cheap that every request should do it. */
const pollMs = 500;

/** Readable by its owner only. Sign-ins are valid for the token they were issued under. */
export function openSignInFile(home: string, token: string, now = Date.now): SignInFile {
  const path = join(home, "sign-ins.json");
  const tokenDigest = digestSecret(token);
  let version = fileVersion(path);
  let checkedAt = now();

  function read(): ReadonlyMap<string, StoredSignIn> {
    version = fileVersion(path);
    try {
      const entry = storedFile.safeParse(JSON.parse(readFileSync(path, "utf8")));
      if (!entry.success || entry.data.token !== tokenDigest) return new Map();
      return new Map(Object.entries(entry.data.signIns));
    } catch {
      return new Map();
    }
  }

  return {
    read,
    readIfChanged(when) {
      if (when === "now and then" && now() - checkedAt < pollMs) return undefined;
      checkedAt = now();
      // A missing file means that a host could not record an ended sign-in, so nobody is signed in by it here either.
      return fileVersion(path) === version ? undefined : read();
    },
    write(signIns, reason) {
      const draft = `${path}.${process.pid}`;
      try {
        const text = JSON.stringify({ token: tokenDigest, signIns: Object.fromEntries(signIns) });
        writeFileSync(draft, text, { mode: 0o600, flush: true });
        renameSync(draft, path);
        version = fileVersion(path);
      } catch {
        // A new sign-in lasts until the host stops; on a full disk there is nothing better to do.
        if (reason === "ended") rmSync(path, { force: true });
        version = fileVersion(path);
      }
    },
  };
}

/** Changes when the file is replaced or rewritten. */
function fileVersion(path: string): string {
  try {
    const { ino, mtimeNs, size } = statSync(path, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch {
    return "absent";
  }
}

/** Who makes a request. */
export interface Principal {
  readonly ownerId: OwnerId;
  readonly by: "token" | "sign-in";
  readonly signInId?: string;
  /** Proven within the last minutes, by the token itself or by signing in. */
  readonly isFresh: boolean;
  /** Aborted when the sign-in is revoked; whatever depends on it ends then. */
  readonly revoked: AbortSignal;
  /** Long-lived streams poll: a sign-in that expires, or is revoked by another host, raises no event here. */
  readonly isStillValid: () => boolean;
}

/** The principal as the audit trail shows it. */
export function principalName({ ownerId: acting, by, signInId }: Principal): string {
  return by === "token" ? `${acting} (token)` : `${acting} (sign-in ${signInId ?? "unknown"})`;
}

/** What a client presents to sign in: the code of a one-time link, or the token itself. */
export type Proof = { readonly code: string } | { readonly token: string };

export interface Credentials {
  readonly authorization: string | undefined;
  readonly signIn: string | undefined;
}

/** A sign-in as its owner sees it. */
export interface SignIn {
  readonly id: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** The user agent. */
  readonly about: string;
}

export interface Authenticator {
  issueSignInCode(): string;
  /** The value of the sign-in cookie, or `undefined` if the proof is invalid or expired. */
  signIn(proof: Proof, about?: string): string | undefined;
  /** The same after a proof that was verified elsewhere. */
  createSignIn(about: string): string;
  signOut(signIn: string): void;
  authenticate(credentials: Credentials): Principal | undefined;
  /** Newest first. */
  signIns(): readonly SignIn[];
  /** Ends a sign-in and everything that depends on its signal. */
  revoke(id: string): "revoked" | "not_found";
  /** Ends all sign-ins but the given one. */
  revokeOthers(stored: string | undefined): void;
}

export const codeLifetimeMs = 10 * 60_000;
export const signInLifetimeMs = 30 * 24 * 3_600_000;

const maxSignIns = 1_000;
const maxAboutLength = 200;
const owner = ownerId.parse("owner");

interface ActiveSignIn {
  readonly stored: StoredSignIn;
  readonly revocation: AbortController;
}

/** Secrets are held as digests. Codes end with the process; sign-ins survive it if there is a file. */
export function createAuthenticator(
  token: string,
  now: () => number = Date.now,
  file?: SignInFile,
): Authenticator {
  const codes = new Map<string, number>();
  const active = new Map<string, ActiveSignIn>();
  const forever = new AbortController().signal;
  const isToken = createSecretMatcher(token);
  apply(file?.read() ?? new Map());

  /** Applies what another host on this home has changed. */
  function apply(stored: ReadonlyMap<string, StoredSignIn>): void {
    for (const digest of active.keys()) if (!stored.has(digest)) end(digest);
    for (const [digest, signIn] of stored)
      if (!active.has(digest))
        active.set(digest, { stored: signIn, revocation: new AbortController() });
  }

  function end(digest: string): void {
    active.get(digest)?.revocation.abort();
    active.delete(digest);
  }

  /**
   * Called with `now` before each write: a write replaces the whole file, and would undo the changes of other hosts.
   */
  function refresh(when: "now" | "now and then"): void {
    const changed = file?.readIfChanged(when);
    if (changed !== undefined) apply(changed);
  }

  function save(reason: "began" | "ended"): void {
    file?.write(new Map([...active].map(([digest, { stored: kept }]) => [digest, kept])), reason);
  }

  function verifyProof(proof: Proof): boolean {
    if ("token" in proof) return isToken(proof.token);
    const digest = digestSecret(proof.code);
    const expiry = codes.get(digest);
    codes.delete(digest);
    return expiry !== undefined && now() < expiry;
  }

  function startSignIn(about: string): string {
    refresh("now");
    for (const [digest, { stored: kept }] of active) if (now() >= kept.expiresAt) end(digest);
    const secret = generateSecret();
    const createdAt = now();
    const stored: StoredSignIn = {
      id: generateSecret().slice(0, 16),
      createdAt,
      expiresAt: createdAt + signInLifetimeMs,
      about: about.slice(0, maxAboutLength),
    };
    active.set(digestSecret(secret), { stored, revocation: new AbortController() });
    const [oldest] = active.keys();
    if (active.size > maxSignIns && oldest !== undefined) end(oldest);
    save("began");
    return secret;
  }

  return {
    issueSignInCode() {
      const code = generateSecret();
      codes.set(digestSecret(code), now() + codeLifetimeMs);
      return code;
    },

    signIn: (proof, about = "") => (verifyProof(proof) ? startSignIn(about) : undefined),
    createSignIn: startSignIn,

    signOut(signIn) {
      refresh("now");
      end(digestSecret(signIn));
      save("ended");
    },

    authenticate({ authorization, signIn }) {
      // A token takes precedence: a valid cookie does not make up for a wrong one.
      if (authorization !== undefined) {
        const given = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
        if (given === undefined || !isToken(given)) return undefined;
        const isStillValid = (): boolean => true;
        return {
          ownerId: owner,
          by: "token",
          isFresh: true,
          revoked: forever,
          isStillValid,
        };
      }
      if (signIn === undefined) return undefined;
      const digest = digestSecret(signIn);
      const find = (): ActiveSignIn | undefined => {
        refresh("now and then");
        const entry = active.get(digest);
        return entry === undefined || now() >= entry.stored.expiresAt ? undefined : entry;
      };
      const entry = find();
      if (entry === undefined) return undefined;
      const { id: signInId, createdAt } = entry.stored;
      return {
        ownerId: owner,
        by: "sign-in",
        signInId,
        isFresh: now() - createdAt < codeLifetimeMs,
        revoked: entry.revocation.signal,
        isStillValid: () => find() !== undefined,
      };
    },

    signIns() {
      refresh("now and then");
      const valid = [...active.values()].filter(({ stored: kept }) => now() < kept.expiresAt);
      return valid.map(({ stored: kept }) => kept).toReversed();
    },

    revoke(id) {
      refresh("now");
      const digest = [...active].find(([, { stored: kept }]) => kept.id === id)?.[0];
      if (digest === undefined) return "not_found";
      end(digest);
      save("ended");
      return "revoked";
    },

    revokeOthers(expectedHash) {
      refresh("now");
      for (const [digest, { stored: kept }] of active) if (kept.id !== expectedHash) end(digest);
      save("ended");
    },
  };
}
