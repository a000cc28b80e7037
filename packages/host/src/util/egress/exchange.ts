import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as requestHttp,
  type RequestOptions,
} from "node:http";
import { pipeline, type Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { isIP, type LookupFunction } from "node:net";
import { type EgressResult, fetched, refused, type Target } from "./check-url.ts";

export interface OutgoingRequest {
  readonly method: "GET" | "HEAD" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/** No keep-alive, and no influence from the environment (such as a proxy). */
const agentOptions = { keepAlive: false };
const httpAgent = new HttpAgent(agentOptions);
const maxHeadBytes = 32 * 1024;
/** Headers that the connection itself determines, or that carry an identity. */
const reservedHeaders =
  /^(host|cookie|connection|content-length|transfer-encoding|te|upgrade|expect|proxy-.*)$/i;

const acceptedEncodings = "gzip, deflate, br";

/** One request to an address that was checked, without resolving the name again. */
export async function exchange(
  { url, host, port }: Target,
  address: string,
  { method, headers, body, signal }: OutgoingRequest,
): Promise<EgressResult<IncomingMessage>> {
  const isSecure = url.protocol === "https:";
  const lookup: LookupFunction = (_name, { all }, callback) => {
    const family = isIP(address);
    if (all === true) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
  const allowedHeaders = Object.entries(headers).filter(([name]) => !reservedHeaders.test(name));
  const options = {
    method,
    host,
    port,
    path: `${url.pathname}${url.search}`,
    lookup,
    maxHeaderSize: maxHeadBytes,
    signal,
    headers: {
      host: url.host,
      "accept-encoding": acceptedEncodings,
      ...Object.fromEntries(allowedHeaders),
      ...(body !== undefined && { "content-length": String(body.byteLength) }),
    },
    ...(isSecure && isIP(host) === 0 && { servername: host }),
  };
  const send = isSecure ? await openHttps() : sendPlain;
  return new Promise((resolve) => {
    const request = send(options);
    request.once("error", (error) => resolve(refused("connection", error.message)));
    request.once("response", (response) => {
      // Readers see the error themselves; a response that nobody reads must not crash the host.
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

const sendPlain = (options: RequestOptions): ClientRequest =>
  requestHttp({ ...options, agent: httpAgent });

let openedHttps: Promise<typeof sendPlain> | undefined;

/** Loaded with the first request: a host that fetches nothing starts faster without it. */
function openHttps(): Promise<typeof sendPlain> {
  return (openedHttps ??= import("node:https").then(({ request, Agent }) => {
    const agent = new Agent(agentOptions);
    return (options) => request({ ...options, agent });
  }));
}

/** An address can be written in several ways. */
function isSameAddress(one: string, other: string): boolean {
  return canonical(one) === canonical(other);
}

function canonical(address: string): string | undefined {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  return isIP(plain) === 6 ? URL.parse(`http://[${plain}]/`)?.hostname : plain;
}

export interface BodyLimits {
  /** Of the body after decompression. */
  readonly mostBytes: number;
  /** What to do with a larger body. */
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

/**
 * Reads a body in chunks and stops at the limit, which counts decompressed bytes: a decompression bomb expands no
 * further than the limit.
 */
export async function readBody(
  response: IncomingMessage,
  { mostBytes, whenLarger }: BodyLimits,
): Promise<EgressResult<Body>> {
  const decoded = decompressed(response);
  if (decoded === null) {
    response.destroy();
    return refused("encoding", "The answer is packed in a way that is not unpacked here.");
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of decoded as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size <= mostBytes) continue;
      if (whenLarger === "refuse")
        return refused("too_large", `The answer is larger than ${mostBytes} bytes.`);
      return fetched({ bytes: Buffer.concat(chunks).subarray(0, mostBytes), isCut: true });
    }
    return fetched({ bytes: Buffer.concat(chunks), isCut: false });
  } finally {
    decoded.destroy();
    response.destroy();
  }
}

/** At most one encoding: no honest server sends a list. */
function decompressed(response: IncomingMessage): Readable | null {
  const encoding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") return response;
  if (!Object.hasOwn(decoders, encoding)) return null;
  const decoder = decoders[encoding as keyof typeof decoders]();
  // An error on either side reaches the reader.
  return pipeline(response, decoder, () => undefined);
}
