import { Socket } from "node:net";

import { expect, test } from "vitest";

import { createAnonymousConnections } from "./anonymous-clients.ts";

/** A connection as a server sees it. */
function from(address: string): Socket {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: address });
  return socket;
}

test("[safety] an IPv6 /64 shares one connection budget and evicts no other network", () => {
  const connections = createAnonymousConnections({ total: 4, perAddress: 2 });
  const other = from("2001:db8:0:8::1");
  const crowd = [1, 2, 3, 4, 5].map((each) => from(`2001:db8:0:7::${each}`));
  for (const socket of [other, ...crowd]) connections.add(socket);
  expect([other, ...crowd].map(({ destroyed }) => destroyed)).toEqual([
    false,
    true,
    true,
    true,
    false,
    false,
  ]);
});
