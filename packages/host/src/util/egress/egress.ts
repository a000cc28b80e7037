import { lookup } from "node:dns/promises";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

import { isLoopback } from "../ip-networks.ts";
import {
  isLocalhostName,
  isPrivateAddress,
  isPublicAddress,
  type AllowList,
  allowList,
  checkTarget,
  checkUrl,
  type Target,
  type EgressResult,
  fetched,
  refused,
} from "./check-url.ts";
import {
  type Body,
  type BodyLimits,
  readBody,
  exchange,
  type OutgoingRequest,
} from "./exchange.ts";

export interface EgressDeps {
  /** `host` or `host:port` that the operator allows although it is not public. */
  readonly allow?: readonly string[];
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  readonly isPublic?: (address: string) => boolean;
  readonly isPrivate?: (address: string) => boolean;
  readonly isPort?: (port: number) => boolean;
}

export interface EgressRequest {
  readonly method?: "GET" | "HEAD" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly mostBytes?: number;
  readonly whenLarger?: "cut" | "refuse";
  /** Other limits of the body, by its media type. */
  readonly limitsFor?: (mediaType: string) => BodyLimits;
  /** For everything together: name resolution, connections, redirects, the body. */
  readonly timeLimitMs?: number;
  /** `its host`: a redirect to another host is refused and reported. */
  readonly follows?: "anywhere" | "its host";
  /** Media types to read. All if absent. */
  readonly takes?: (mediaType: string) => boolean;
  readonly signal?: AbortSignal;
}

export interface EgressAnswer extends Body {
  /** The final URL, after all redirects. */
  readonly url: string;
  readonly status: number;
  /** In lower case, without parameters; empty if the server sent none. */
  readonly mediaType: string;
  readonly charset: string | null;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface Egress {
  /** Whether a URL may be asked for at all, by its scheme and port. */
  check(url: string): EgressResult<Target>;
  /** The addresses that its name has now and that may be connected to. */
  addresses(target: Target, signal: AbortSignal): Promise<EgressResult<readonly string[]>>;
  request(url: string, request?: EgressRequest): Promise<EgressResult<EgressAnswer>>;
}

const maxRedirects = 5;
const maxAddresses = 3;
const defaultLimits = { mostBytes: 5 * 1024 * 1024, timeLimitMs: 20_000 };
const webPorts: ReadonlySet<number> = new Set([80, 443, 8080, 8443]);
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * The only way out to a URL that came from data. Every hop is checked again: its scheme, its port, and the
 * addresses that its name has right now, one of which is then used. No cookies, no credentials in URLs, no proxy.
 */
export function createEgress(deps: EgressDeps = {}): Egress {
  const { resolve = resolveAll, isPublic = isPublicAddress, isPrivate = isPrivateAddress } = deps;
  const { isPort = (port) => webPorts.has(port) } = deps;
  const allowed = allowList(deps.allow ?? []);

  /** Follows redirects. Secret headers are not sent to another origin. */
  async function follow(
    first: Target,
    request: OutgoingRequest,
    follows: EgressRequest["follows"],
  ): Promise<EgressResult<[IncomingMessage, Target]>> {
    let target = first;
    let { headers } = request;
    for (let hop = 0; hop <= maxRedirects; hop += 1) {
      const response = await send(target, { ...request, headers });
      if (!response.ok) return response;
      const { statusCode = 0, headers: responseHeaders } = response.value;
      const { location } = responseHeaders;
      if (!redirects.has(statusCode) || location === undefined)
        return fetched([response.value, target]);
      response.value.destroy();
      if (request.method === "POST")
        return refused("redirect", "What was sent is not sent elsewhere.");
      const next = checkTarget(URL.parse(location, target.url.href), isPort, allowed);
      if (!next.ok) return next;
      if (target.url.protocol === "https:" && next.value.url.protocol === "http:")
        return refused("redirect", "The redirect leads from https to http.");
      if (follows === "its host" && next.value.host !== first.host)
        return refused("redirect", `It leads to another host, to ${next.value.url.href}`);
      if (next.value.url.origin !== target.url.origin) headers = withoutSecrets(headers);
      target = next.value;
    }
    return refused("redirect", `There were more than ${maxRedirects} redirects.`);
  }

  async function send(
    target: Target,
    request: OutgoingRequest,
  ): Promise<EgressResult<IncomingMessage>> {
    const addresses = await addressesOf(target, allowed, request.signal);
    if (!addresses.ok) return addresses;
    let last: EgressResult<IncomingMessage> = refused(
      "unresolved",
      `${target.host} has no address.`,
    );
    for (const address of addresses.value.slice(0, maxAddresses)) {
      last = await exchange(target, address, request);
      if (last.ok || request.signal.aborted) break;
    }
    return last;
  }

  /** The permitted addresses of a name. The connection uses one of them without resolving the name again. */
  async function addressesOf(
    { host, port }: Target,
    list: AllowList,
    signal: AbortSignal,
  ): Promise<EgressResult<readonly string[]>> {
    const all = isIP(host) === 0 ? await abortable(resolve(host), signal).catch(() => []) : [host];
    if (all.length === 0) return refused("unresolved", `The name ${host} has no address.`);
    const isAllowed = list.has(host, port);
    // Whoever answers for an allowed name must not lead to this machine or to a metadata service with it.
    const usable = all.filter(
      (address) =>
        isPublic(address) ||
        (isAllowed && isPrivate(address)) ||
        (isAllowed && isLocalhostName(host) && isLoopback(address)) ||
        list.has(address, port),
    );
    if (usable.length > 0) return fetched(usable);
    return refused(
      "address",
      isAllowed
        ? `${host} is on neither the public internet nor a private network. An operator can also allow its address (egressAllow).`
        : `${host} is not on the public internet. An operator can allow it by name (egressAllow).`,
    );
  }

  return {
    check: (url) => checkUrl(url, isPort, allowed),
    addresses: (target, signal) => addressesOf(target, allowed, signal),
    async request(url, request = {}) {
      const { mostBytes = defaultLimits.mostBytes, timeLimitMs = defaultLimits.timeLimitMs } =
        request;
      const { method = "GET", headers = {}, body, whenLarger = "refuse", takes } = request;
      const first = checkUrl(url, isPort, allowed);
      if (!first.ok) return first;
      const timeout = AbortSignal.timeout(timeLimitMs);
      const signal =
        request.signal === undefined ? timeout : AbortSignal.any([request.signal, timeout]);
      const explain = <T>(result: EgressResult<T>): EgressResult<T> => {
        if (result.ok || !signal.aborted) return result;
        return request.signal?.aborted === true
          ? refused("cancelled", "It was cancelled.")
          : refused("time", `It took longer than ${timeLimitMs} ms.`);
      };
      try {
        if (signal.aborted) return explain(refused("cancelled", "It was cancelled."));
        const followed = await follow(
          first.value,
          { method, headers, body, signal },
          request.follows,
        );
        if (!followed.ok) return explain(followed);
        const [response, target] = followed.value;
        const { mediaType, charset } = contentType(response);
        if (takes !== undefined && !takes(mediaType)) {
          response.destroy();
          return refused("content_type", `The answer is ${mediaType || "of no known type"}.`);
        }
        const limits = request.limitsFor?.(mediaType) ?? { mostBytes, whenLarger };
        const received = await readBody(response, limits);
        if (!received.ok) return explain(received);
        const { statusCode: status = 0, headers: responseHeaders } = response;
        const meta = { url: target.url.href, status, mediaType, charset, headers: responseHeaders };
        return fetched({ ...received.value, ...meta });
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        return explain(refused("connection", message));
      }
    },
  };
}

async function resolveAll(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
}

/** A resolver takes no signal, so the wait for it does. */
function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", abort));
}

function withoutSecrets(headers: Readonly<Record<string, string>>): Record<string, string> {
  const safe = Object.entries(headers).filter(([name]) =>
    /^(accept|accept-language|user-agent)$/i.test(name),
  );
  return Object.fromEntries(safe);
}

function contentType({ headers }: IncomingMessage): { mediaType: string; charset: string | null } {
  const text = headers["content-type"] ?? "";
  const [mediaType = ""] = text.split(";", 1);
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(text)?.[1] ?? null;
  return { mediaType: mediaType.trim().toLowerCase(), charset };
}
