import { hash, randomBytes, timingSafeEqual } from "node:crypto";

/** 256 random bits in 43 characters that need no escaping anywhere. */
export function generateSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** What is kept of a secret, so that a look into memory or a dump does not give it away. */
export function digestSecret(secret: string): string {
  return hash("sha256", secret, "base64url");
}

/** Compares in a time that tells nothing about where, or whether, the two differ in length. */
export function createSecretMatcher(expected: string): (given: string) => boolean {
  const own = hash("sha256", expected, "buffer");
  return (given) => timingSafeEqual(hash("sha256", given, "buffer"), own);
}
