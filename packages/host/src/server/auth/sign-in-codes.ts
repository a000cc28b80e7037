import type { Store } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";
import { type CachedRow, openCachedRegister } from "../../util/cached-register.ts";

const storedCode = z.object({
  digest: z.string(),
  /** Of the token it was issued under. */
  token: z.string(),
  expiresAt: z.number(),
});
type StoredCode = z.infer<typeof storedCode>;

/** Codes of sign-in links in the store, as digests: each signs one browser in, once, on whichever host it opens. */
export interface SignInCodes {
  /** Rejects with a `StoreFailure`. */
  add(digest: string, expiresAt: number): Promise<void>;
  /** Whether the code was valid; from now on it is not. Rejects with a `StoreFailure`. */
  take(digest: string): Promise<boolean>;
}

export interface SignInCodeOptions {
  readonly store: Pick<Store, "kind" | "register">;
  readonly owner: OwnerId;
  readonly tokenDigest: string;
  readonly now: () => number;
}

const maxCodes = 100;

/** As with sign-ins, a home's own store holds codes under its own token, and hosts on a shared store accept all. */
export function openSignInCodes({
  store,
  owner,
  tokenDigest,
  now,
}: SignInCodeOptions): SignInCodes {
  const { register } = store;
  const rows = openCachedRegister({
    register,
    owner,
    prefix: "sign-in-code/",
    schema: storedCode,
    maxRows: maxCodes,
    now,
  });
  const isValid = (code: StoredCode | null): code is StoredCode =>
    code !== null &&
    now() < code.expiresAt &&
    (store.kind === "postgres" || code.token === tokenDigest);

  /** A used or expired row is used again. Of too many the oldest goes: a program may ask for codes without end. */
  function chooseRow(all: readonly CachedRow<StoredCode>[]): string {
    const free = all.find(({ value }) => !isValid(value));
    if (free !== undefined) return free.name;
    if (all.length < maxCodes) return String(all.length);
    const [oldest] = all.toSorted((a, b) => (a.value?.expiresAt ?? 0) - (b.value?.expiresAt ?? 0));
    return oldest?.name ?? "0";
  }

  return {
    async add(digest, expiresAt) {
      await rows.change((all) => ({
        name: chooseRow(all),
        value: { digest, token: tokenDigest, expiresAt },
      }));
    },
    take: (digest) =>
      rows.change((all) => {
        const row = all.find(({ value }) => isValid(value) && value.digest === digest);
        return row === undefined ? null : { name: row.name, value: null };
      }),
  };
}
