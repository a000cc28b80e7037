import { describe, expect, test } from "vitest";

import {
  canonicalAddress,
  clientNetwork,
  isInNetworks,
  isNetwork,
  parseNetworks,
} from "./ip-networks.ts";

test.each([
  ["1.2.3.4", "1.2.3.4"],
  ["::ffff:1.2.3.4", "1.2.3.4"],
  ["::FFFF:1.2.3.4", "1.2.3.4"],
  ["::ffff:102:304", "1.2.3.4"],
  ["0:0:0:0:0:ffff:1.2.3.4", "1.2.3.4"],
  ["2001:DB8:0:0:0::1", "2001:db8::1"],
  ["fe80::1%eth0", "fe80::1"],
  ["unknown", "unknown"],
  ["", ""],
])("%j is written %j", (address, canonical) => {
  expect(canonicalAddress(address)).toBe(canonical);
});

test.each([
  ["1.2.3.4", "1.2.3.4"],
  ["::ffff:102:304", "1.2.3.4"],
  ["2001:db8::1", "2001:db8:0:0"],
  ["2001:0db8:0:1::5", "2001:db8:0:1"],
  ["2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:1"],
  ["1:2:3:4:5:6:7:8", "1:2:3:4"],
  ["1:2:3::", "1:2:3:0"],
  ["::1", "0:0:0:0"],
  ["::1.2.3.4", "0:0:0:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
  ["unknown", "unknown"],
])("limits count %s as %s", (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});

describe("networks", () => {
  test.each(["10.0.0.1", "10.0.0.0/8", "::1", "fd00::/8", "0.0.0.0/0"])("%s is one", (text) => {
    expect(isNetwork(text)).toBe(true);
  });

  test.each([
    "",
    "10",
    "10.0.0.0/33",
    "10.0.0.0/8/8",
    "::/129",
    "10.0.0.0/",
    "10.0.0.0/-1",
    "127.1",
  ])("%j is none", (text) => {
    expect(isNetwork(text)).toBe(false);
  });

  test("contain an address in any spelling", () => {
    const networks = parseNetworks(["10.0.0.0/8", "fd00::/8", "192.0.2.1"]);
    for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "::ffff:a01:203", "FD00::1", "192.0.2.1"])
      expect([address, isInNetworks(networks, address)]).toEqual([address, true]);
    for (const address of ["11.0.0.1", "192.0.2.2", "fe80::1", "10.1", "unknown"])
      expect([address, isInNetworks(networks, address)]).toEqual([address, false]);
  });
});
