import { createCipheriv, createDecipheriv, hash, randomBytes } from "node:crypto";
import { chmodSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomically } from "../../util/atomic-file.ts";
import { systemCode } from "../../util/outcome.ts";
import type { Config } from "../config/settings.ts";

/** A secret as it is stored: AES-256-GCM with a nonce of its own, bound to the row it belongs to. */
export const sealedSecret = z.object({
  version: z.literal(1),
  /** Which key opens it. */
  key: z.string(),
  nonce: z.string(),
  /** Ciphertext and tag. */
  sealed: z.string(),
});
export type SealedSecret = z.infer<typeof sealedSecret>;

interface SecretsKey {
  readonly id: string;
  readonly bytes: Buffer;
}

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/** `about` is authenticated: a row copied to another name or owner does not open. */
function seal(key: SecretsKey, about: string, text: string): SealedSecret {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key.bytes, nonce).setAAD(Buffer.from(about));
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return {
    version: 1,
    key: key.id,
    nonce: nonce.toString("base64url"),
    sealed: sealed.toString("base64url"),
  };
}

/** `null` if it was changed, or is not about this. */
function unseal(key: SecretsKey, about: string, { nonce, sealed }: SealedSecret): string | null {
  const bytes = Buffer.from(sealed, "base64url");
  try {
    const decipher = createDecipheriv(algorithm, key.bytes, Buffer.from(nonce, "base64url"))
      .setAAD(Buffer.from(about))
      .setAuthTag(bytes.subarray(-tagBytes));
    const text = Buffer.concat([decipher.update(bytes.subarray(0, -tagBytes)), decipher.final()]);
    return text.toString("utf8");
  } catch {
    return null;
  }
}

function keyOf(text: string): SecretsKey {
  const bytes = hash("sha256", `holdfast secrets key\0${text}`, "buffer");
  return { bytes, id: hash("sha256", bytes, "base64url").slice(0, 12) };
}

/** The keys that open stored secrets; the first one seals. */
export interface Keyring {
  /** Where the keys come from, for people. */
  readonly source: string;
  hasKey(): boolean;
  has(keyId: string): boolean;
  /** Whether it is sealed with the first key. */
  isCurrent(sealed: SealedSecret): boolean;
  seal(about: string, text: string): SealedSecret;
  unseal(about: string, sealed: SealedSecret): string | null;
  /** Reads the keys again: another process may have replaced them. */
  reload(): void;
  /** Makes the first key, if there is none. */
  ensureKey(): void;
  /** Puts a new key before the others, where the keys are in a file. */
  addKey(): Promise<void>;
  /** Removes all keys but the first, where the keys are in a file. */
  dropOldKeys(): Promise<void>;
}

export type SecretsKeySettings = Pick<Config, "home" | "secretsKey" | "secretsKeyFile">;

/** From the environment, or from a file readable by its owner only. */
export function openKeyring({ home, secretsKey, secretsKeyFile }: SecretsKeySettings): Keyring {
  const path = secretsKeyFile.value ?? join(home.value, "secrets.key");
  const configured = secretsKey.value;
  let keys: readonly SecretsKey[] = [];

  function readTexts(): readonly string[] {
    const texts = configured ?? readKeyFile(path);
    return texts.split(/\s+/).filter((text) => text !== "");
  }

  function reload(): void {
    keys = readTexts().map(keyOf);
  }

  function first(): SecretsKey {
    const [key] = keys;
    if (key === undefined) throw new Error("There is no key for secrets.");
    return key;
  }

  async function writeFile(texts: readonly string[]): Promise<void> {
    if (configured === undefined) await writeFileAtomically(path, `${texts.join("\n")}\n`);
    reload();
  }

  reload();
  return {
    source: configured === undefined ? path : "HOLDFAST_SECRETS_KEY",
    hasKey: () => keys.length > 0,
    has: (keyId) => keys.some(({ id }) => id === keyId),
    isCurrent: ({ key }) => key === keys[0]?.id,
    seal: (about, text) => seal(first(), about, text),
    unseal(about, sealed) {
      const key = keys.find(({ id }) => id === sealed.key);
      return key === undefined ? null : unseal(key, about, sealed);
    },
    reload,
    ensureKey() {
      if (keys.length > 0) return;
      createKeyFile(path);
      reload();
    },
    addKey: () => writeFile([generateKey(), ...readTexts()]),
    dropOldKeys: () => writeFile(readTexts().slice(0, 1)),
  };
}

function generateKey(): string {
  return randomBytes(32).toString("base64url");
}

/** Empty if there is no file. */
function readKeyFile(path: string): string {
  try {
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
    return readFileSync(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return "";
    throw error;
  }
}

/** A hard link is atomic: two processes that make the first key end up with the same one. */
function createKeyFile(path: string): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${generateKey()}\n`, { mode: 0o600, flag: "wx", flush: true });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
