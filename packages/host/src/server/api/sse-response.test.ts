import { once } from "node:events";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { expect, onTestFinished, test } from "vitest";

import { writeToConnection } from "./sse-response.ts";

async function connected(): Promise<{ outgoing: ServerResponse; incoming: IncomingMessage }> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const asked = once(server, "request");
  const request = get({ port: (server.address() as AddressInfo).port, agent: false });
  request.on("error", () => {});
  const answered = once(request, "response");
  const [, outgoing] = (await asked) as [IncomingMessage, ServerResponse];
  outgoing.writeHead(200).flushHeaders();
  const [incoming] = (await answered) as [IncomingMessage];
  incoming.on("error", () => {});
  return { outgoing, incoming };
}

/** More than both ends of a connection keep for each other. */
const much = "x".repeat(7 * 1024 * 1024);

test("what was written before the end arrives, and the connection ends with it", async () => {
  const { outgoing, incoming } = await connected();
  const over = new AbortController();
  const pipe = writeToConnection(outgoing, manualClock(), over);
  void pipe.write(much);
  over.abort();
  let length = 0;
  for await (const piece of incoming) length += (piece as Buffer).byteLength;
  expect(length).toBe(much.length);
});

test("[safety] who reads nothing does not keep a connection that was ended", async () => {
  const { outgoing } = await connected();
  const clock = manualClock();
  const over = new AbortController();
  const pipe = writeToConnection(outgoing, clock, over);
  const written = pipe.write(much);
  over.abort();
  await written;
  expect(outgoing.destroyed).toBe(false);
  await clock.advance(5_000);
  expect(outgoing.destroyed).toBe(true);
});

test("nothing is waited for when the client has left", async () => {
  const { outgoing, incoming } = await connected();
  const clock = manualClock();
  const over = new AbortController();
  writeToConnection(outgoing, clock, over);
  incoming.destroy();
  await once(outgoing, "close");
  over.abort();
  expect(clock.sleepers).toBe(0);
});
