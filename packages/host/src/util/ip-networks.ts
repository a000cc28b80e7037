import { BlockList, isIP, isIPv6, SocketAddress } from "node:net";

/** Whether text is an address like `10.0.0.1`, or a network like `10.0.0.0/8`. */
export function isNetwork(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
  );
}

export function parseNetworks(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

export function isInNetworks(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? "ipv6" : "ipv4");
}

/** Whether a name or address means this machine. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/** One spelling for each address: unwraps IPv4 in IPv6, which is the same client, and drops a zone. */
export function canonicalAddress(address: string): string {
  if (!isIPv6(address)) return address;
  const [bare = ""] = address.split("%");
  const canonical = new SocketAddress({ address: bare, family: "ipv6" }).address;
  return canonical.replace(/^::ffff:(?=\d+\.)/, "");
}

/** The key for rate limits: an IPv6 client owns 2^64 addresses, so its /64 counts as one. */
export function clientNetwork(address: string): string {
  const canonical = canonicalAddress(address);
  if (!isIPv6(canonical)) return canonical;
  const [head = "", tail = ""] = canonical.split("::");
  const [left = [], right = []] = [head, tail].map((part) => (part === "" ? [] : part.split(":")));
  const zeros = Array<string>(8 - left.length - right.length).fill("0");
  return [...left, ...zeros, ...right].slice(0, 4).join(":");
}
