import { BlockList, isIP } from "node:net";

/**
 * IPv4 ranges that are not somebody's public server: this network, private, shared, loopback, link-local (with the
 * metadata services), protocol assignments, documentation, 6to4 relays, benchmarks, multicast, reserved. The single
 * address is a cloud's own service that stands in a public range.
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
 * Of IPv6 only 2000::/3 is public at all, which leaves out loopback, mapped and NAT64 addresses, unique local, link-local and
 * multicast. Inside it: protocol assignments with Teredo, documentation, and 6to4, which carry an IPv4 address of anybody's choice.
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

/** Whether an address is one on the public internet. What is not an address is not. */
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
