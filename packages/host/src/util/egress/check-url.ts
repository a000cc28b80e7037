import { BlockList, isIP } from "node:net";

/** Why nothing was fetched. The code is stable. */
export interface EgressRefusal {
  readonly code:
    | "bad_url"
    | "scheme"
    | "credentials"
    | "port"
    | "address"
    | "unresolved"
    | "redirect"
    | "content_type"
    | "encoding"
    | "too_large"
    | "time"
    | "cancelled"
    | "connection";
  readonly message: string;
}

export type EgressResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: EgressRefusal };

export function fetched<T>(value: T): EgressResult<T> {
  return { ok: true, value };
}

export function refused(code: EgressRefusal["code"], message: string): EgressResult<never> {
  return { ok: false, refusal: { code, message } };
}

/**
 * IPv4 ranges that no public server uses: this network, private, shared, loopback, link-local (with the metadata
 * services), protocol assignments, documentation, 6to4 relays, benchmarks, multicast, reserved. The single address
 * is a cloud provider's internal service within a public range.
 */
const specialIpv4Ranges: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/**
 * Only 2000::/3 of IPv6 is public at all, which excludes loopback, mapped and NAT64 addresses, unique local,
 * link-local and multicast. Inside it, these are special: protocol assignments with Teredo, documentation, and
 * 6to4, which embeds an arbitrary IPv4 address.
 */
const specialIpv6Ranges: readonly (readonly [string, number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const publicIpv6 = new BlockList();
publicIpv6.addSubnet("2000::", 3, "ipv6");
const specialRanges = new BlockList();
for (const [net, prefix] of specialIpv4Ranges) specialRanges.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of specialIpv6Ranges) specialRanges.addSubnet(net, prefix, "ipv6");

/** Whether this is an address on the public internet. Anything that is not an IP address is not. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !specialRanges.check(address, "ipv4");
    case 6:
      // A zone names an interface of this machine.
      return (
        !address.includes("%") &&
        publicIpv6.check(address, "ipv6") &&
        !specialRanges.check(address, "ipv6")
      );
    default:
      return false;
  }
}

/** Private networks, where an operator's own servers are: by name an operator may allow these and no others. */
const privateRanges = new BlockList();
privateRanges.addSubnet("10.0.0.0", 8, "ipv4");
privateRanges.addSubnet("100.64.0.0", 10, "ipv4");
privateRanges.addSubnet("172.16.0.0", 12, "ipv4");
privateRanges.addSubnet("192.168.0.0", 16, "ipv4");
privateRanges.addSubnet("fc00::", 7, "ipv6");

/** Neither this machine nor a metadata service (fd00:ec2::254 is Amazon's) is a private network. */
const serviceAddresses = new BlockList();
serviceAddresses.addAddress("fd00:ec2::254", "ipv6");
serviceAddresses.addAddress("100.100.100.200", "ipv4");
serviceAddresses.addAddress("192.0.0.192", "ipv4");

export function isPrivateAddress(address: string): boolean {
  const family = isIP(address) === 4 ? "ipv4" : "ipv6";
  if (isIP(address) === 0 || address.includes("%")) return false;
  return privateRanges.check(address, family) && !serviceAddresses.check(address, family);
}

/** Means this machine wherever it is resolved (RFC 6761). */
export function isLocalhostName(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

const maxUrlLength = 8_192;

/** Hosts that an operator allows beyond the public internet: by exact name, on any port or on one. */
export interface AllowList {
  has(host: string, port: number): boolean;
}

export function allowList(entries: readonly string[]): AllowList {
  const allowed = new Set(entries.map((entry) => entry.toLowerCase().replace(/[[\]]/g, "")));
  return { has: (host, port) => allowed.has(host) || allowed.has(`${host}:${port}`) };
}

/** A URL that passed all checks. */
export interface Target {
  readonly url: URL;
  /** Without brackets and trailing dot: the form that is resolved and compared. */
  readonly host: string;
  readonly port: number;
}

export function checkUrl(text: string, isPort: (port: number) => boolean, allowed: AllowList) {
  return checkTarget(text.length > maxUrlLength ? null : URL.parse(text), isPort, allowed);
}

/** The same checks for the first URL and for every redirect. */
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
