import { isIP } from "node:net";
import type { HonoRequest, MiddlewareHandler } from "hono";
import { isLoopback } from "../../util/ip-networks.ts";
import { sendProblem } from "./problem.ts";

export interface ServerAddress {
  /** What the host listens on: a name or an address. */
  readonly host: string;
  /** What people type, where a reverse proxy gives it another address. */
  readonly origin: string | undefined;
}

/** The host and port that the client believes to talk to. */
export function requestHost(request: HonoRequest): string {
  return request.header("host") ?? new URL(request.url).host;
}

/**
 * Refuses host names that are not ours, as another site's name that was pointed at this machine
 * (DNS rebinding) is not, and requests that a page of another site makes. A document without an origin, as the page's own
 * frame is, gets what is the same for everybody and nothing else.
 */
export function checkHostAndOrigin(
  own: ServerAddress,
  isForEverybody: (path: string) => boolean,
): MiddlewareHandler {
  const judge = memoize((host) => {
    const url = URL.parse(`http://${host}`);
    return url !== null && isOwnHostname(url.hostname, own) ? url.origin : undefined;
  });
  return async function address(c, next) {
    const ours = judge(requestHost(c.req));
    if (ours === undefined)
      return sendProblem(c, "forbidden", { detail: "Holdfast does not answer to this host name." });
    const origin = c.req.header("origin");
    if (origin === "null" && c.req.method === "GET" && isForEverybody(c.req.path)) return next();
    if (origin !== undefined && origin !== ours && origin !== own.origin) {
      return sendProblem(c, "forbidden", { detail: "The request comes from another site." });
    }
    return next();
  };
}

/** People come by few names, again and again. Strangers may make up many, and long ones: those are judged anew. */
function memoize<T>(judge: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    if (known.has(name)) return known.get(name) as T;
    const verdict = judge(name);
    if (known.size < maxNames && name.length < longestName) known.set(name, verdict);
    return verdict;
  };
}

const maxNames = 100;
const longestName = 300;

function isOwnHostname(hostname: string, own: ServerAddress): boolean {
  const bare = hostname.replace(/^\[|\]$/g, "");
  if (isLoopback(bare) || bare === own.host.toLowerCase()) return true;
  if (own.origin !== undefined && hostname === URL.parse(own.origin)?.hostname) return true;
  // A plain address cannot be rebound, and who serves on all of them does not know which are his.
  return isWildcard(own.host) && isIP(bare) !== 0;
}

export function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}
