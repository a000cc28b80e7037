import type { Store } from "@holdfast/engine";
import { ownerId } from "@holdfast/protocol";
import { type CachedRow, openCachedRegister } from "../../util/cached-register.ts";
import { type Keyring, type SealedSecret, sealedSecret } from "./secrets-key.ts";

/** Why stored secrets cannot be read or changed. */
export class SecretsLocked extends Error {
  readonly code: "key_missing" | "key_wrong";
  constructor(code: SecretsLocked["code"], source: string) {
    super(
      code === "key_missing"
        ? `The stored secrets are encrypted, and there is no key in ${source}: put the key of the host that stored them there (HOLDFAST_SECRETS_KEY, or its file secrets.key).`
        : `The stored secrets are encrypted with a different key from the one in ${source}: use the key of the host that stored them (HOLDFAST_SECRETS_KEY, or its file secrets.key).`,
    );
    this.name = "SecretsLocked";
    this.code = code;
  }
}

/** Encrypted texts by name, in the store, shared by all hosts that have the key. */
export interface EncryptedRows {
  /** `null` if there is none, or if it cannot be opened. */
  read(name: string): string | null;
  names(): readonly string[];
  /** Whether there is or was one, readable or not. */
  exists(name: string): boolean;
  /** The names of those that this host cannot open. */
  unreadable(): readonly string[];
  /** Set if this host can open none of them, and so may not add any. */
  locked(): SecretsLocked | null;
  /** Rejects with `SecretsLocked` or a `StoreFailure`. */
  put(name: string, text: string): Promise<void>;
  /**
   * Changes one by its newest text, chosen again if another host was faster; `undefined` leaves it as it is. Returns
   * whether it was changed.
   */
  change(name: string, choose: (text: string | null) => string | undefined): Promise<boolean>;
  /** Returns whether there was one. */
  remove(name: string): Promise<boolean>;
  reload(): Promise<void>;
  refresh(): Promise<void>;
  /** Encrypts everything with a new key. Returns how many there were. A crash leaves all of it readable. */
  rotate(): Promise<number>;
}

const owner = ownerId.parse("owner");
const maxSecrets = 1_000;

export async function openEncryptedRows(
  { register }: Pick<Store, "register">,
  keyring: Keyring,
): Promise<EncryptedRows> {
  let texts: ReadonlyMap<string, string | null> = new Map();
  const rows = openCachedRegister({
    register,
    owner,
    prefix: "secret/",
    schema: sealedSecret,
    maxRows: maxSecrets,
    onChange: (all) => {
      texts = new Map(
        all.flatMap(({ name, value }) => (value === null ? [] : [[name, open(name, value)]])),
      );
    },
  });

  /** Bound to the owner and the name of its row. */
  const aboutOf = (name: string): string => JSON.stringify(["holdfast secret", owner, name]);

  function open(name: string, sealed: SealedSecret): string | null {
    if (!keyring.has(sealed.key)) keyring.reload();
    return keyring.unseal(aboutOf(name), sealed);
  }

  const unreadable = (): readonly string[] =>
    [...texts].flatMap(([name, text]) => (text === null ? [name] : []));

  function locked(): SecretsLocked | null {
    if (texts.size === 0 || unreadable().length < texts.size) return null;
    return new SecretsLocked(keyring.hasKey() ? "key_wrong" : "key_missing", keyring.source);
  }

  async function change(
    name: string,
    choose: (text: string | null) => string | undefined,
  ): Promise<boolean> {
    return rows.change(() => {
      const reason = locked();
      if (reason !== null) throw reason;
      const text = choose(texts.get(name) ?? null);
      if (text === undefined) return null;
      keyring.ensureKey();
      return { name, value: keyring.seal(aboutOf(name), text) };
    });
  }

  /** The next row that is not sealed with the first key. */
  function nextToRotate(all: readonly CachedRow<SealedSecret>[]) {
    for (const { name, value } of all) {
      const text = texts.get(name);
      if (value !== null && text != null && !keyring.isCurrent(value))
        return { name, value: keyring.seal(aboutOf(name), text) };
    }
    return null;
  }

  await rows.reload();
  return {
    read: (name) => texts.get(name) ?? null,
    names: () => [...texts].flatMap(([name, text]) => (text === null ? [] : [name])),
    exists: (name) => rows.rows().some((row) => row.name === name),
    unreadable,
    locked,
    put: async (name, text) => void (await change(name, () => text)),
    change,
    remove: (name) =>
      rows.change((all) => {
        const row = all.find((each) => each.name === name);
        return row?.value == null ? null : { name, value: null };
      }),
    reload: () => rows.reload(),
    refresh: () => rows.refresh(),
    async rotate() {
      await rows.reload();
      const reason = locked();
      if (reason !== null) throw reason;
      await keyring.addKey();
      let count = 0;
      while (await rows.change(nextToRotate)) count += 1;
      await keyring.dropOldKeys();
      return count;
    },
  };
}
