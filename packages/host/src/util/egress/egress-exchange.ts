import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isIP, type LookupFunction } from "node:net";

import { acceptedEncodings } from "./exchange.ts";
import type { Target } from "./egress-check-url.ts";
import { type EgressResult, fetched, refused } from "./check-url.ts";

export interface OutgoingRequest {
  readonly method: "GET" | "HEAD" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/** Nothing is kept open between requests, and nothing of the environment (a proxy, for example) has a say. */
const agents = {
  http: new HttpAgent({ keepAlive: false }),
  https: new HttpsAgent({ keepAlive: false }),
};
const largestHead = 32 * 1024;
/** What the connection itself decides, or would carry somebody's identity along. */
const reserved =
  /^(host|cookie|connection|content-length|transfer-encoding|te|upgrade|expect|proxy-.*)$/i;

/** One request to one address that was checked: the name is not resolved again, whoever asks. */
export function exchange(
  { url, host, port }: Target,
  address: string,
  { method, headers, body, signal }: OutgoingRequest,
): Promise<EgressResult<IncomingMessage>> {
  const isSecure = url.protocol === "https:";
  const lookup: LookupFunction = (_name, { all }, answer) => {
    const family = isIP(address);
    if (all === true) answer(null, [{ address, family }]);
    else answer(null, address, family);
  };
  const chosen = Object.entries(headers).filter(([name]) => !reserved.test(name));
  const options = {
    method,
    host,
    port,
    path: `${url.pathname}${url.search}`,
    agent: isSecure ? agents.https : agents.http,
    lookup,
    maxHeaderSize: largestHead,
    signal,
    headers: {
      host: url.host,
      "accept-encoding": acceptedEncodings,
      ...Object.fromEntries(chosen),
      ...(body !== undefined && { "content-length": String(body.byteLength) }),
    },
    ...(isSecure && isIP(host) === 0 && { servername: host }),
  };
  return new Promise((resolve) => {
    const request = isSecure ? requestHttps(options) : requestHttp(options);
    request.once("error", (error) => resolve(refused("connection", error.message)));
    request.once("response", (response) => {
      // What is read fails by itself; what nobody reads must not bring the host down.
      response.on("error", () => undefined);
      const { remoteAddress } = response.socket;
      if (remoteAddress !== undefined && !isSameAddress(remoteAddress, address)) {
        response.destroy();
        resolve(refused("address", "The connection went elsewhere than it was sent."));
        return;
      }
      resolve(fetched(response));
    });
    request.end(body);
  });
}

/** An address may be written in several ways. */
function isSameAddress(one: string, other: string): boolean {
  return canonical(one) === canonical(other);
}

function canonical(address: string): string | undefined {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  return isIP(plain) === 6 ? URL.parse(`http://[${plain}]/`)?.hostname : plain;
}
