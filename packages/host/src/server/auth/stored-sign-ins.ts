import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";
import { type CachedRow, openCachedRegister, type RowChange } from "../../util/cached-register.ts";
import { systemCode } from "../../util/outcome.ts";

const storedSignIn = z.object({
  id: z.string(),
  /** Of the cookie's value. */
  digest: z.string(),
  /** Of the token it was issued under. */
  token: z.string(),
  /**
   * The digest of its link key, which the page proves with each request. `null` for a program, which sends its cookie to
   * nobody else. Absent for a sign-in from before there were page keys, until the page binds it.
   */
  page: z.string().nullable().optional(),
  createdAt: z.number(),
  expiresAt: z.number(),
  about: z.string(),
});
export type StoredSignIn = z.infer<typeof storedSignIn>;

/** Sign-ins in the store, as digests, shared by all hosts on it. Changes reject with a `StoreFailure`. */
export interface StoredSignIns {
  /** As of the last read, oldest first. */
  current(): readonly StoredSignIn[];
  reload(): Promise<void>;
  refresh(): Promise<void>;
  add(signIn: StoredSignIn): Promise<void>;
  bindPage(id: string, page: string): Promise<boolean>;
  remove(isEnded: (signIn: StoredSignIn) => boolean): Promise<void>;
}

export interface StoredSignInOptions {
  readonly store: Pick<Store, "kind" | "register">;
  readonly owner: OwnerId;
  readonly tokenDigest: string;
  readonly now: () => number;
  readonly onChange: (signIns: readonly StoredSignIn[]) => void;
}

const maxSignIns = 1_000;

/**
 * A home's own store holds sign-ins under its own token: whoever replaces the token ends them all. On a shared store
 * each host has its own token, and accepts what the others have issued.
 */
export function openStoredSignIns(options: StoredSignInOptions): StoredSignIns {
  const { store, owner, tokenDigest, now } = options;
  const isValid = (signIn: StoredSignIn | null): signIn is StoredSignIn =>
    signIn !== null &&
    now() < signIn.expiresAt &&
    (store.kind === "postgres" || signIn.token === tokenDigest);
  const validOf = (rows: readonly CachedRow<StoredSignIn>[]): readonly StoredSignIn[] =>
    rows
      .map(({ value }) => value)
      .filter(isValid)
      .toSorted((a, b) => a.createdAt - b.createdAt);
  const rows = openCachedRegister({
    register: store.register,
    owner,
    prefix: "sign-in/",
    schema: storedSignIn,
    maxRows: maxSignIns,
    now,
    onChange: (all) => options.onChange(validOf(all)),
  });

  /** An empty or expired row is used again; of a thousand sign-ins the oldest gives up its row. */
  function chooseRow(all: readonly CachedRow<StoredSignIn>[], signIn: StoredSignIn) {
    if (all.some(({ value }) => value?.id === signIn.id)) return null;
    const free = all.find(({ value }) => !isValid(value));
    const [oldest] = all.toSorted((a, b) => (a.value?.createdAt ?? 0) - (b.value?.createdAt ?? 0));
    const name = free?.name ?? (all.length < maxSignIns ? slotName(all) : (oldest?.name ?? "0"));
    return { name, value: signIn };
  }

  return {
    current: () => validOf(rows.rows()),
    reload: () => rows.reload(),
    refresh: () => rows.refresh(),
    async add(signIn) {
      await rows.change((all) => chooseRow(all, signIn));
    },
    bindPage: (id, page) =>
      rows.change((all) => {
        const row = all.find(({ value }) => isValid(value) && value.id === id);
        if (row?.value == null || row.value.page !== undefined) return null;
        return { name: row.name, value: { ...row.value, page } };
      }),
    async remove(isEnded) {
      const next = (all: readonly CachedRow<StoredSignIn>[]): RowChange<StoredSignIn> | null => {
        const row = all.find(({ value }) => value !== null && isEnded(value));
        return row === undefined ? null : { name: row.name, value: null };
      };
      while (await rows.change(next));
    },
  };
}

function slotName(rows: readonly CachedRow<StoredSignIn>[]): string {
  const names = new Set(rows.map(({ name }) => name));
  let slot = 0;
  while (names.has(String(slot))) slot += 1;
  return String(slot);
}

const signInFile = z.object({
  token: z.string(),
  signIns: z.record(z.string(), storedSignIn.omit({ digest: true, token: true, page: true })),
});

/** Moves the sign-ins that earlier versions kept in a file. The file goes last, so a crash repeats the move. */
export async function moveSignInFile(
  home: string,
  signIns: StoredSignIns,
  tokenDigest: string,
): Promise<void> {
  const path = join(home, "sign-ins.json");
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return;
    throw error;
  }
  const { data } = signInFile.safeParse(parseOrNull(text));
  if (data?.token === tokenDigest)
    for (const [digest, signIn] of Object.entries(data.signIns))
      await signIns.add({ ...signIn, digest, token: tokenDigest });
  rmSync(path, { force: true });
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
