import { createHmac } from "node:crypto";

/** The headers of Standard Webhooks: signed are the id, the time and the body, so that none of them can be another's. */
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

export function signatureDigest(
  secret: string,
  id: string,
  seconds: string,
  body: Uint8Array,
): Buffer {
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
