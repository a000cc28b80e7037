import { createHmac } from "node:crypto";

export interface SignedPost {
  readonly address: string;
  /** Of the webhook. */
  readonly name: string;
  readonly secret: string;
  readonly id: string;
  readonly message: Readonly<Record<string, unknown>>;
  /** By the host's clock. */
  readonly at: number;
}

/** Says something as a program does that has nothing but its secret. */
export function postSigned(post: SignedPost): Promise<Response> {
  const { address, name, secret, id } = post;
  const body = JSON.stringify(post.message);
  const seconds = String(Math.floor(post.at / 1_000));
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : secret;
  const signature = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": `v1,${signature}`,
  };
  return fetch(`${address}api/gateway/webhook/${name}`, { method: "POST", body, headers });
}
