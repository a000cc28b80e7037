import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { link, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Signs what this host has stored, so that others can check it without trusting the database. */
export interface AuditKey {
  /** Short enough to compare by eye. */
  readonly id: string;
  readonly publicKey: string;
  readonly sign: (text: string) => string;
}

/** The host's key, created at the first start. It is not part of a backup. */
async function openAuditKey(home: string): Promise<AuditKey> {
  const file = join(home, "audit.key");
  const pem = (await readIfThere(file)) ?? (await createKeyFile(file));
  const privateKey = createPrivateKey(pem);
  const publicKey = encodePublicKey(createPublicKey(privateKey));
  return {
    id: keyIdOf(publicKey),
    publicKey,
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64url"),
  };
}

/** Opens it when it is first needed. */
export function lazyAuditKey(home: string): () => Promise<AuditKey> {
  let opened: Promise<AuditKey> | undefined;
  return () =>
    (opened ??= openAuditKey(home).catch((error: unknown) => {
      opened = undefined;
      throw error;
    }));
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Appears whole or not at all; of two processes that start together, both use the first one's. */
async function createKeyFile(file: string): Promise<string> {
  const { privateKey } = generateKeyPairSync("ed25519");
  const temporary = `${file}.${process.pid}`;
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  await writeFile(temporary, pem, { mode: 0o600, flush: true });
  try {
    await link(temporary, file);
    return pem;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST")
      return await readFile(file, "utf8");
    throw error;
  } finally {
    await unlink(temporary);
  }
}

function encodePublicKey(key: KeyObject): string {
  return key.export({ type: "spki", format: "der" }).toString("base64url");
}

/** The id of the key in a file. */
export function readKeyId(pem: string): string {
  return keyIdOf(encodePublicKey(createPublicKey(createPrivateKey(pem))));
}

export function keyIdOf(publicKey: string): string {
  return createHash("sha256").update(publicKey).digest("hex").slice(0, 16);
}

/** `false` also for what is no key. */
export function isSignedBy(publicKey: string, text: string, signature: string): boolean {
  try {
    const der = Buffer.from(publicKey, "base64url");
    const key = createPublicKey({ key: der, type: "spki", format: "der" });
    return verify(null, Buffer.from(text), key, Buffer.from(signature, "base64url"));
  } catch {
    return false;
  }
}
