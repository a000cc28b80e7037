import { hash, randomBytes, timingSafeEqual } from "node:crypto";

/** 256 random bits in 43 characters that need no escaping. */
export function generateSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Only digests are kept, so a memory dump or a backup does not reveal secrets. */
export function digestSecret(secret: string): string {
  return hash("sha256", secret, "base64url");
}

/** Takes constant time, whatever the position of the first difference or the length. */
export function createSecretMatcher(expected: string): (given: string) => boolean {
  const expectedHash = hash("sha256", expected, "buffer");
  return (given) => timingSafeEqual(hash("sha256", given, "buffer"), expectedHash);
}
