import { lookup } from "node:dns/promises";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

import {
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
import { type Body, readBody, exchange, type OutgoingRequest } from "./exchange.ts";

export interface EgressDeps {
  /** `host` or `host:port` that the operator lets be asked though it is not public. */
  readonly allow?: readonly string[];
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  readonly isPublic?: (address: string) => boolean;
  readonly isPort?: (port: number) => boolean;
}

export interface EgressRequest {
  readonly method?: "GET" | "HEAD" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly mostBytes?: number;
  readonly whenLarger?: "cut" | "refuse";
  /** For everything together: names, connections, redirects, the body. */
  readonly timeLimitMs?: number;
  /** `its host`: a redirect to another one is not followed, but told. */
  readonly follows?: "anywhere" | "its host";
  /** Which media types are read. All when absent. */
  readonly takes?: (mediaType: string) => boolean;
  readonly signal?: AbortSignal;
}

export interface EgressAnswer extends Body {
  /** Where it came from, after all redirects. */
  readonly url: string;
  readonly status: number;
  /** In lower case, without parameters; empty when the server named none. */
  readonly mediaType: string;
  readonly charset: string | null;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface Egress {
  request(url: string, request?: EgressRequest): Promise<EgressResult<EgressAnswer>>;
}

const maxRedirects = 5;
const maxAddresses = 3;
const defaultLimits = { mostBytes: 5 * 1024 * 1024, timeLimitMs: 20_000 };
const webPorts: ReadonlySet<number> = new Set([80, 443, 8080, 8443]);
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * The one way out to an address that came from data. Each hop is checked anew: its scheme, its port, and the very
 * addresses that its name has at this moment, one of which is then used. No cookies, no credentials in addresses, no proxy.
 */
export function createEgress(parts: EgressDeps = {}): Egress {
  const { resolve = resolveAll, isPublic = isPublicAddress } = parts;
  const { isPort = (port) => webPorts.has(port) } = parts;
  const allowed = allowList(parts.allow ?? []);

  /** From one hop to the next. Nothing that is kept secret follows to another origin. */
  async function follow(
    first: Target,
    sent: OutgoingRequest,
    follows: EgressRequest["follows"],
  ): Promise<EgressResult<[IncomingMessage, Target]>> {
    let target = first;
    let { headers } = sent;
    for (let hop = 0; hop <= maxRedirects; hop += 1) {
      const response = await ask(target, { ...sent, headers });
      if (!response.ok) return response;
      const { statusCode = 0, headers: answered } = response.value;
      const { location } = answered;
      if (!redirects.has(statusCode) || location === undefined)
        return fetched([response.value, target]);
      response.value.destroy();
      if (sent.method === "POST")
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

  async function ask(
    target: Target,
    sent: OutgoingRequest,
  ): Promise<EgressResult<IncomingMessage>> {
    const addresses = await addressesOf(target, allowed, sent.signal);
    if (!addresses.ok) return addresses;
    let last: EgressResult<IncomingMessage> = refused(
      "unresolved",
      `${target.host} has no address.`,
    );
    for (const address of addresses.value.slice(0, maxAddresses)) {
      last = await exchange(target, address, sent);
      if (last.ok || sent.signal.aborted) break;
    }
    return last;
  }

  /** Those of a name that may be asked; the one that is used is one of them, without a second look at the name. */
  async function addressesOf(
    { host, port }: Target,
    list: AllowList,
    signal: AbortSignal,
  ): Promise<EgressResult<readonly string[]>> {
    const all = isIP(host) === 0 ? await abortable(resolve(host), signal).catch(() => []) : [host];
    if (all.length === 0) return refused("unresolved", `The name ${host} has no address.`);
    const usable = list.has(host, port)
      ? all.filter((address) => isIP(address) !== 0)
      : all.filter(isPublic);
    if (usable.length > 0) return fetched(usable);
    return refused(
      "address",
      `${host} is not on the public internet. An operator can allow it by name (egressAllow).`,
    );
  }

  return {
    async request(url, asked = {}) {
      const { mostBytes = defaultLimits.mostBytes, timeLimitMs = defaultLimits.timeLimitMs } =
        asked;
      const { method = "GET", headers = {}, body, whenLarger = "refuse", takes } = asked;
      const first = checkUrl(url, isPort, allowed);
      if (!first.ok) return first;
      const over = AbortSignal.timeout(timeLimitMs);
      const signal = asked.signal === undefined ? over : AbortSignal.any([asked.signal, over]);
      const explain = <T>(result: EgressResult<T>): EgressResult<T> => {
        if (result.ok || !signal.aborted) return result;
        return asked.signal?.aborted === true
          ? refused("cancelled", "It was cancelled.")
          : refused("time", `It took longer than ${timeLimitMs} ms.`);
      };
      try {
        if (signal.aborted) return explain(refused("cancelled", "It was cancelled."));
        const reached = await follow(first.value, { method, headers, body, signal }, asked.follows);
        if (!reached.ok) return explain(reached);
        const [response, target] = reached.value;
        const { mediaType, charset } = contentType(response);
        if (takes !== undefined && !takes(mediaType)) {
          response.destroy();
          return refused("content_type", `The answer is ${mediaType || "of no known type"}.`);
        }
        const read = await readBody(response, { mostBytes, whenLarger });
        if (!read.ok) return explain(read);
        const { statusCode: status = 0, headers: answered } = response;
        const place = { url: target.url.href, status, mediaType, charset, headers: answered };
        return fetched({ ...read.value, ...place });
      } catch (error) {
        const words = error instanceof Error ? error.message : String(error);
        return explain(refused("connection", words));
      }
    },
  };
}

async function resolveAll(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
}

/** A resolver has no signal; whoever waits for it has. */
function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", abort));
}

function withoutSecrets(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) =>
    /^(accept|accept-language|user-agent)$/i.test(name),
  );
  return Object.fromEntries(kept);
}

function contentType({ headers }: IncomingMessage): { mediaType: string; charset: string | null } {
  const text = headers["content-type"] ?? "";
  const [mediaType = ""] = text.split(";", 1);
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(text)?.[1] ?? null;
  return { mediaType: mediaType.trim().toLowerCase(), charset };
}
