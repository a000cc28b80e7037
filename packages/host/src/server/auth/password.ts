import crypto, { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import type { EncryptedRows } from "../../ops/secrets/encrypted-rows.ts";
import { passwordRow } from "../../ops/secrets/secrets.ts";
import { serialQueue } from "../../util/serial-queue.ts";

export const minPasswordLength = 10;

/** The password, if one is set, stored as a slow hash, encrypted: a backup gives nobody a hash to guess at. */
export interface Passwords {
  isSet(): boolean;
  /**
   * `busy`: too many verifications are queued, and each costs time and memory. Rejects with a `StoreFailure` if the
   * store cannot be read.
   */
  matches(given: string): Promise<"yes" | "no" | "busy">;
  set(password: string): Promise<void>;
  remove(): Promise<void>;
}

const maxWaiting = 16;
const tagLength = 32;
const memoryKiB = 19 * 1024;
const passes = 2;
const scryptCost = 2 ** 15;

type HashKind = "argon2id" | "scrypt";

/** Argon2 if Node's OpenSSL has it, otherwise scrypt. */
const preferred: HashKind = typeof crypto.argon2 === "function" ? "argon2id" : "scrypt";

function hashPassword(kind: HashKind, password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, key: Buffer): void =>
      error === null ? resolve(key) : reject(error);
    if (kind === "argon2id") {
      const parameters = { message: password, nonce: salt, parallelism: 1, tagLength };
      crypto.argon2("argon2id", { ...parameters, memory: memoryKiB, passes }, done);
    } else {
      const options = { N: scryptCost, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };
      scrypt(password, salt, tagLength, options, done);
    }
  });
}

const storedForm = /^\$(argon2id|scrypt)\$([\w-]+)\$([\w-]+)$/;

export function createPasswords(
  encrypted: Pick<EncryptedRows, "read" | "put" | "remove" | "reload">,
): Passwords {
  let pending = 0;
  /** One verification at a time, however many clients guess. */
  const serialize = serialQueue();

  function read(): { kind: HashKind; salt: Buffer; hash: Buffer } | undefined {
    const [, kind, salt = "", hash = ""] = storedForm.exec(encrypted.read(passwordRow) ?? "") ?? [];
    if (kind !== "argon2id" && kind !== "scrypt") return undefined;
    return { kind, salt: Buffer.from(salt, "base64url"), hash: Buffer.from(hash, "base64url") };
  }

  async function verify(given: string): Promise<"yes" | "no"> {
    // Another host may have changed it just now.
    await encrypted.reload();
    const stored = read();
    // Hash even without a stored password, so that the timing does not reveal whether one is set.
    const { kind, salt } = stored ?? { kind: preferred, salt: randomBytes(16) };
    const hash = await hashPassword(kind, given.normalize("NFC"), salt);
    const isSame = stored?.hash.length === hash.length && timingSafeEqual(stored.hash, hash);
    return isSame ? "yes" : "no";
  }

  return {
    isSet: () => read() !== undefined,
    async matches(given) {
      if (pending >= maxWaiting) return "busy";
      pending += 1;
      try {
        return await serialize(() => verify(given));
      } finally {
        pending -= 1;
      }
    },
    async set(password) {
      const salt = randomBytes(16);
      const hash = await hashPassword(preferred, password.normalize("NFC"), salt);
      const text = `$${preferred}$${salt.toString("base64url")}$${hash.toString("base64url")}`;
      await encrypted.put(passwordRow, text);
    },
    async remove() {
      await encrypted.remove(passwordRow);
    },
  };
}
