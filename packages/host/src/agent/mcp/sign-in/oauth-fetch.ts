import type { FetchLike } from "@modelcontextprotocol/client";
import { createEgress, type Egress } from "../../../util/egress/egress.ts";

const maxAnswerBytes = 256 * 1024;
const defaultTimeoutMs = 10_000;

export interface OAuthFetchOptions {
  /** `host` or `host:port` beyond the public internet that the operator allows. */
  readonly egressAllow: readonly string[];
  /** For one request. */
  readonly requestTimeoutMs?: number | undefined;
}

/** What an authorisation server did that ends a sign-in, in words. */
export class SignInFailure extends Error {}

/**
 * Sends the requests of a sign-in. Addresses come from servers, so they go through the one egress client: the public
 * internet, what the operator allows, and the MCP server's own host, which a person has named. Nothing is followed to
 * another host, and what was posted is not sent twice.
 */
export function createOAuthFetch(
  serverUrl: string,
  { egressAllow, requestTimeoutMs = defaultTimeoutMs }: OAuthFetchOptions,
): FetchLike {
  const { hostname, port, protocol } = new URL(serverUrl);
  const own = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  const egress = createEgress({ allow: [...egressAllow, own], isPort: () => true });
  return (url, init) => send(egress, String(url), { timeLimitMs: requestTimeoutMs, ...init });
}

async function send(
  egress: Egress,
  url: string,
  { timeLimitMs, ...init }: RequestInit & { readonly timeLimitMs: number },
): Promise<Response> {
  const headers = Object.fromEntries(new Headers(init.headers));
  const isPost = init.method === "POST";
  if (isPost && init.body instanceof URLSearchParams)
    headers["content-type"] ??= "application/x-www-form-urlencoded";
  const answer = await egress.request(url, {
    method: isPost ? "POST" : "GET",
    headers,
    ...(isPost && init.body != null && { body: await bytesOf(init.body) }),
    mostBytes: maxAnswerBytes,
    timeLimitMs,
    follows: "its host",
    ...(init.signal != null && { signal: init.signal }),
  });
  const { origin } = new URL(url);
  // A TypeError is how fetch fails: the library passes it on instead of trying elsewhere.
  if (!answer.ok) throw new TypeError(`${origin} could not be asked: ${answer.refusal.message}`);
  const { status, bytes, headers: received } = answer.value;
  const plain = new Headers();
  for (const name of ["content-type", "www-authenticate", "retry-after"]) {
    const value = received[name];
    if (typeof value === "string") plain.set(name, value);
  }
  const isEmpty = status === 204 || status === 304;
  return new Response(isEmpty ? null : Buffer.from(bytes), { status, headers: plain });
}

async function bytesOf(body: NonNullable<RequestInit["body"]>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(body).arrayBuffer());
}
