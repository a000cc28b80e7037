import { createServer, type IncomingMessage, request } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { getRequestListener } from "@hono/node-server";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { createAuthenticator } from "../auth/authenticator.ts";
import { createAccessControl, type HostEnv } from "./routing.ts";

/** What a host behind these proxies takes for the client's address, for connections from 127.0.0.1. */
async function openHost(proxies: readonly string[]) {
  const store = createReferenceStore();
  const authenticator = createAuthenticator({ token: "a-token", store });
  const { addressOf } = createAccessControl({ authenticator, proxies });
  const app = new Hono<HostEnv>().get("/", (c) => c.text(addressOf(c)));
  const handle = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer((incoming, outgoing) => void handle(incoming, outgoing));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return async (forwarded: string): Promise<string> => {
    const headers = { "x-forwarded-for": forwarded };
    const asked = request({ host: "127.0.0.1", port, headers, agent: false }).end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    return text(answer);
  };
}

test("[safety] behind a proxy the last address that is not a proxy's counts, which the client cannot write", async () => {
  const addressOf = await openHost(["127.0.0.1", "10.0.0.0/8"]);
  expect(await addressOf("192.0.2.7")).toBe("192.0.2.7");
  expect(await addressOf("198.51.100.1, 192.0.2.7")).toBe("192.0.2.7");
  expect(await addressOf("198.51.100.1, 192.0.2.7, 10.0.0.9")).toBe("192.0.2.7");
  expect(await addressOf("2001:db8::7")).toBe("2001:db8::7");
  expect(await addressOf("nonsense, 10.0.0.9")).toBe("127.0.0.1");
});

test("[safety] what anybody but a proxy says of its address is ignored", async () => {
  for (const proxies of [[], ["10.0.0.0/8"]])
    expect(await (await openHost(proxies))("192.0.2.7")).toBe("127.0.0.1");
});
