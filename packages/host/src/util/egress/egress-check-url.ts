import { type EgressResult, fetched, refused } from "./check-url.ts";

const longestUrl = 8_192;

/** What an operator has allowed beyond the public internet: exact hosts, on any port or on one. */
export interface AllowList {
  has(host: string, port: number): boolean;
}

export function allowList(entries: readonly string[]): AllowList {
  const known = new Set(entries.map((entry) => entry.toLowerCase().replace(/[[\]]/g, "")));
  return { has: (host, port) => known.has(host) || known.has(`${host}:${port}`) };
}

/** An address as it will be asked: everything in it was looked at. */
export interface Target {
  readonly url: URL;
  /** Without brackets and without a last dot: what is resolved and compared. */
  readonly host: string;
  readonly port: number;
}

export function checkUrl(text: string, isPort: (port: number) => boolean, allowed: AllowList) {
  return checkTarget(text.length > longestUrl ? null : URL.parse(text), isPort, allowed);
}

/** The same checks for the first address and for wherever a redirect leads. */
export function checkTarget(
  url: URL | null,
  isPort: (port: number) => boolean,
  allowed: AllowList,
): EgressResult<Target> {
  if (url === null) return refused("bad_url", "This is not an address like https://example.org/.");
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return refused("scheme", `Only http and https are fetched, not ${url.protocol}`);
  if (url.username !== "" || url.password !== "")
    return refused("credentials", "An address must not carry a user name or a password.");
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (host === "") return refused("bad_url", "The address names no host.");
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  if (!isPort(port) && !allowed.has(host, port))
    return refused("port", `Port ${port} is not asked.`);
  return fetched({ url, host, port });
}
