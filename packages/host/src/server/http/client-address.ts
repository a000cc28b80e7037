import { isIP } from "node:net";
import type { Context } from "hono";
import { isInNetworks, parseNetworks } from "../../util/ip-networks.ts";
import { connectionOf, type HostEnv } from "./route.ts";

/** Where a request comes from, as far as it can be believed. */
export type ClientAddress = (c: Context<HostEnv>) => string;

/**
 * The other end of the connection. What a header says counts only where that end is a proxy which the operator has named,
 * and then only its last stranger: everything before it was written by whoever asks.
 */
export function readClientAddress(proxies: readonly string[]): ClientAddress {
  const named = parseNetworks(proxies);
  return (c) => {
    const peer = unmapIpv4(connectionOf(c).incoming?.socket.remoteAddress ?? "unknown");
    if (proxies.length === 0) return peer;
    if (!isInNetworks(named, peer)) return peer;
    const hops = (c.req.header("x-forwarded-for") ?? "")
      .split(",")
      .map((hop) => unmapIpv4(hop.trim()));
    return hops.findLast((hop) => isIP(hop) !== 0 && !isInNetworks(named, hop)) ?? peer;
  };
}

/** An IPv4 address is the same one when it comes in IPv6 clothes. */
function unmapIpv4(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}
