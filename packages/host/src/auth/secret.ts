import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** 256 random bits in 43 characters that need no escaping anywhere. */
export function makeSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** What is kept of a secret, so that a look into memory or a dump does not give it away. */
export function digestOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}

/** Compares in a time that tells nothing about where, or whether, the two differ in length. */
export function sameSecret(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map((text) => createHash("sha256").update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
