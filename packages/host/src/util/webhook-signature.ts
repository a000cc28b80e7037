import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * The headers of Standard Webhooks. The signature covers the id, the time and the body, so that none of them can
 * be replaced.
 */
export function signedHeaders(
  secrets: readonly string[],
  id: string,
  seconds: number,
  body: Uint8Array,
): Record<string, string> {
  const signatures = secrets.map(
    (secret) => `v1,${signatureDigest(secret, id, String(seconds), body).toString("base64")}`,
  );
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" "),
  };
}

function signatureDigest(secret: string, id: string, seconds: string, body: Uint8Array): Buffer {
  return createHmac("sha256", decodeSecret(secret))
    .update(`${id}.${seconds}.`)
    .update(body)
    .digest();
}

function decodeSecret(secret: string): Uint8Array {
  return secret.startsWith("whsec_")
    ? Buffer.from(secret.slice("whsec_".length), "base64")
    : Buffer.from(secret, "utf8");
}

export interface SignedRequest {
  readonly id: string | undefined;
  readonly timestamp: string | undefined;
  readonly signature: string | undefined;
  /** The raw bytes: nothing is parsed before the signature is verified. */
  readonly body: Uint8Array;
}

export type VerifyResult =
  | { readonly status: "signed"; readonly id: string }
  | { readonly status: "unsigned" | "stale" };

const toleranceMs = 5 * 60_000;
const maxSignatures = 10;
const maxHeaderLength = 2_000;
// No dots: the signed text would otherwise be ambiguous.
const idPattern = /^[A-Za-z0-9_:-]{1,80}$/;
const timestampPattern = /^\d{1,12}$/;
/** Used when there is no secret, so that an unknown name takes as long to reject as a known one. */
const placeholderSecret = "nobody-has-this-secret-and-nobody-will";

/** Whether a request was signed with one of the secrets. Staleness is reported only to senders who know a secret. */
export function verifySigned(
  { id = "", timestamp = "", signature = "", body }: SignedRequest,
  secrets: readonly string[],
  now: number,
): VerifyResult {
  const isWellFormed = idPattern.test(id) && timestampPattern.test(timestamp);
  const candidates = secrets.length > 0 ? secrets : [placeholderSecret];
  const expected = candidates.map((secret) => signatureDigest(secret, id, timestamp, body));
  const signatures = signature.slice(0, maxHeaderLength).split(" ").slice(0, maxSignatures);
  let matches = 0;
  for (const candidate of signatures.map(parseSignature))
    for (const digest of expected)
      if (candidate !== null && timingSafeEqual(candidate, digest)) matches += 1;
  if (!isWellFormed || matches === 0 || secrets.length === 0) return { status: "unsigned" };
  const age = now - Number(timestamp) * 1_000;
  return Math.abs(age) > toleranceMs ? { status: "stale" } : { status: "signed", id };
}

/** `null`: another version or length. */
function parseSignature(signature: string): Buffer | null {
  const [, text] = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(signature) ?? [];
  return text === undefined ? null : Buffer.from(text, "base64");
}
