import { type IncomingMessage, request as requestHttp, Agent as HttpAgent } from "node:http";
import { pipeline, type Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { request as requestHttps, Agent as HttpsAgent } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { type EgressResult, fetched, refused, type Target } from "./check-url.ts";

export interface BodyLimits {
  /** Of the body as it is after decompression. */
  readonly mostBytes: number;
  /** What becomes of a body that is longer. */
  readonly whenLarger: "cut" | "refuse";
}

export interface Body {
  readonly bytes: Uint8Array;
  readonly isCut: boolean;
}

const decoders = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const;

const acceptedEncodings = "gzip, deflate, br";

/**
 * Reads a body piece by piece and stops at the limit, which counts what comes out of the decompression: of a bomb no
 * more is made than what is kept.
 */
export async function readBody(
  response: IncomingMessage,
  { mostBytes, whenLarger }: BodyLimits,
): Promise<EgressResult<Body>> {
  const plain = decompressed(response);
  if (plain === null) {
    response.destroy();
    return refused("encoding", "The answer is packed in a way that is not unpacked here.");
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of plain as AsyncIterable<Buffer>) {
      pieces.push(piece);
      size += piece.byteLength;
      if (size <= mostBytes) continue;
      if (whenLarger === "refuse")
        return refused("too_large", `The answer is larger than ${mostBytes} bytes.`);
      return fetched({ bytes: Buffer.concat(pieces).subarray(0, mostBytes), isCut: true });
    }
    return fetched({ bytes: Buffer.concat(pieces), isCut: false });
  } finally {
    plain.destroy();
    response.destroy();
  }
}

/** One packing at most: a list of them is nobody's honest answer. */
function decompressed(response: IncomingMessage): Readable | null {
  const encoding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") return response;
  if (!Object.hasOwn(decoders, encoding)) return null;
  const unpack = decoders[encoding as keyof typeof decoders]();
  // An error of either side reaches whoever reads.
  return pipeline(response, unpack, () => undefined);
}

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
