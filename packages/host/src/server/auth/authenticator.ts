import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ownerId, type OwnerId } from "@holdfast/protocol";

/** 256 random bits in 43 characters that need no escaping anywhere. */
export function generateSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** What is kept of a secret, so that a look into memory or a dump does not give it away. */
function digestSecret(secret: string): string {
  return hash("sha256", secret, "base64url");
}

/** Compares in a time that tells nothing about where, or whether, the two differ in length. */
function createSecretMatcher(expected: string): (given: string) => boolean {
  const own = hash("sha256", expected, "buffer");
  return (given) => timingSafeEqual(hash("sha256", given, "buffer"), own);
}

const storedSignIn = z.object({
  id: z.string(),
  createdAt: z.number(),
  expiresAt: z.number(),
  about: z.string(),
});
export type StoredSignIn = z.infer<typeof storedSignIn>;

/** Where sign-ins outlive the host: digests, and what is known of each. */
export interface SignInFile {
  read(): ReadonlyMap<string, StoredSignIn>;
  /** What another host on this home has written since; nothing when it has not. `now and then` looks only so often. */
  readIfChanged(look: "now" | "now and then"): ReadonlyMap<string, StoredSignIn> | undefined;
  /** Where some of them `ended` and that cannot be written, none is kept: one that was ended must not come back with the next start. */
  write(signIns: ReadonlyMap<string, StoredSignIn>, why: "began" | "ended"): void;
}

const storedFile = z.object({ token: z.string(), signIns: z.record(z.string(), storedSignIn) });

/** A look at the file costs little, and still nothing should cost it for each request. */
const pollMs = 500;

/** In the home, for nobody else to read. They hold for the token that they were given under, and for no other. */
export function openSignInFile(home: string, token: string, now = Date.now): SignInFile {
  const path = join(home, "sign-ins.json");
  const underToken = digestSecret(token);
  let seen = fileVersion(path);
  let lookedAt = now();

  function read(): ReadonlyMap<string, StoredSignIn> {
    seen = fileVersion(path);
    try {
      const found = storedFile.safeParse(JSON.parse(readFileSync(path, "utf8")));
      if (!found.success || found.data.token !== underToken) return new Map();
      return new Map(Object.entries(found.data.signIns));
    } catch {
      return new Map();
    }
  }

  return {
    read,
    readIfChanged(look) {
      if (look === "now and then" && now() - lookedAt < pollMs) return undefined;
      lookedAt = now();
      // One that is gone was taken away by a host that could not write what it had ended: nobody is signed in by it here either.
      return fileVersion(path) === seen ? undefined : read();
    },
    write(signIns, why) {
      const draft = `${path}.${process.pid}`;
      try {
        const text = JSON.stringify({ token: underToken, signIns: Object.fromEntries(signIns) });
        writeFileSync(draft, text, { mode: 0o600, flush: true });
        renameSync(draft, path);
        seen = fileVersion(path);
      } catch {
        // Who signed in stays so until the host stops; there is nothing better to be had from a full disk.
        if (why === "ended") rmSync(path, { force: true });
        seen = fileVersion(path);
      }
    },
  };
}

/** Another file, or the same one written again, has another. */
function fileVersion(path: string): string {
  try {
    const { ino, mtimeNs, size } = statSync(path, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch {
    return "absent";
  }
}

/** Who acts. */
export interface Principal {
  readonly ownerId: OwnerId;
  readonly by: "token" | "sign-in";
  /** Which sign-in, where it is one. */
  readonly signInId?: string;
  /** It was proven within the last minutes, by the token itself or by signing in. */
  readonly isFresh: boolean;
  /** Aborted when what it was recognised by is good no more: whatever hangs on it ends then. */
  readonly revoked: AbortSignal;
  /** Looks again. What hangs on it for long asks now and then: a sign-in runs out, or is ended by another host, without a sound. */
  readonly isStillValid: () => boolean;
}

/** Who it was, for a trail that is read later. */
export function principalName({ ownerId: acting, by, signInId }: Principal): string {
  return by === "token" ? `${acting} (token)` : `${acting} (sign-in ${signInId ?? "unknown"})`;
}

/** What somebody shows to sign in: the code of a one-time link, or the token itself. */
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
  /** What the browser called itself. */
  readonly about: string;
}

export interface Authenticator {
  /** The code of a one-time sign-in link. */
  issueSignInCode(): string;
  /** The value of the sign-in cookie, or nothing when the proof is not good (any more). */
  signIn(proof: Proof, about?: string): string | undefined;
  /** The same for somebody whose proof was judged elsewhere. */
  createSignIn(about: string): string;
  signOut(signIn: string): void;
  authenticate(credentials: Credentials): Principal | undefined;
  /** Newest first. */
  signIns(): readonly SignIn[];
  /** Ends a sign-in, and everything that hangs on it. */
  revoke(id: string): "revoked" | "not_found";
  /** Ends all of them but the one that asks. */
  revokeOthers(kept: string | undefined): void;
}

export const codeLifetimeMs = 10 * 60_000;
export const signInLifetimeMs = 30 * 24 * 3_600_000;

const maxSignIns = 1_000;
const maxAboutLength = 200;
const owner = ownerId.parse("owner");

interface ActiveSignIn {
  readonly kept: StoredSignIn;
  readonly ending: AbortController;
}

/** Secrets are held as digests. Codes end with the host; sign-ins outlive it where they are kept. */
export function createAuthenticator(
  token: string,
  now: () => number = Date.now,
  file?: SignInFile,
): Authenticator {
  const codes = new Map<string, number>();
  const held = new Map<string, ActiveSignIn>();
  const forever = new AbortController().signal;
  const isToken = createSecretMatcher(token);
  take(file?.read() ?? new Map());

  /** What another host on this home has changed holds here too. */
  function take(kept: ReadonlyMap<string, StoredSignIn>): void {
    for (const digest of held.keys()) if (!kept.has(digest)) end(digest);
    for (const [digest, each] of kept)
      if (!held.has(digest)) held.set(digest, { kept: each, ending: new AbortController() });
  }

  function end(digest: string): void {
    held.get(digest)?.ending.abort();
    held.delete(digest);
  }

  /** Before anything is written it is looked at now: what is written is the whole, and would undo what others did. */
  function refresh(look: "now" | "now and then"): void {
    const news = file?.readIfChanged(look);
    if (news !== undefined) take(news);
  }

  function keep(why: "began" | "ended"): void {
    file?.write(new Map([...held].map(([digest, { kept }]) => [digest, kept])), why);
  }

  function proves(proof: Proof): boolean {
    if ("token" in proof) return isToken(proof.token);
    const digest = digestSecret(proof.code);
    const expiry = codes.get(digest);
    codes.delete(digest);
    return expiry !== undefined && now() < expiry;
  }

  function admit(about: string): string {
    refresh("now");
    for (const [digest, { kept }] of held) if (now() >= kept.expiresAt) end(digest);
    const secret = generateSecret();
    const createdAt = now();
    const kept: StoredSignIn = {
      id: generateSecret().slice(0, 16),
      createdAt,
      expiresAt: createdAt + signInLifetimeMs,
      about: about.slice(0, maxAboutLength),
    };
    held.set(digestSecret(secret), { kept, ending: new AbortController() });
    const [oldest] = held.keys();
    if (held.size > maxSignIns && oldest !== undefined) end(oldest);
    keep("began");
    return secret;
  }

  return {
    issueSignInCode() {
      const code = generateSecret();
      codes.set(digestSecret(code), now() + codeLifetimeMs);
      return code;
    },

    signIn: (proof, about = "") => (proves(proof) ? admit(about) : undefined),
    createSignIn: admit,

    signOut(signIn) {
      refresh("now");
      end(digestSecret(signIn));
      keep("ended");
    },

    authenticate({ authorization, signIn }) {
      // Who shows a token is judged by it: a wrong one is not mended by a good cookie.
      if (authorization !== undefined) {
        const given = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
        if (given === undefined || !isToken(given)) return undefined;
        const isStillGood = (): boolean => true;
        return {
          ownerId: owner,
          by: "token",
          isFresh: true,
          revoked: forever,
          isStillValid: isStillGood,
        };
      }
      if (signIn === undefined) return undefined;
      const digest = digestSecret(signIn);
      const find = (): ActiveSignIn | undefined => {
        refresh("now and then");
        const found = held.get(digest);
        return found === undefined || now() >= found.kept.expiresAt ? undefined : found;
      };
      const found = find();
      if (found === undefined) return undefined;
      const { id: signInId, createdAt } = found.kept;
      return {
        ownerId: owner,
        by: "sign-in",
        signInId,
        isFresh: now() - createdAt < codeLifetimeMs,
        revoked: found.ending.signal,
        isStillValid: () => find() !== undefined,
      };
    },

    signIns() {
      refresh("now and then");
      const good = [...held.values()].filter(({ kept }) => now() < kept.expiresAt);
      return good.map(({ kept }) => kept).toReversed();
    },

    revoke(id) {
      refresh("now");
      const digest = [...held].find(([, { kept }]) => kept.id === id)?.[0];
      if (digest === undefined) return "not_found";
      end(digest);
      keep("ended");
      return "revoked";
    },

    revokeOthers(own) {
      refresh("now");
      for (const [digest, { kept }] of held) if (kept.id !== own) end(digest);
      keep("ended");
    },
  };
}
