import { once } from "node:events";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { expect, onTestFinished, test } from "vitest";

import { writeToConnection } from "./responses.ts";

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

/** More than both ends of a connection buffer. */
const payload = "x".repeat(7 * 1024 * 1024);

test("everything written before the end arrives, and then the connection closes", async () => {
  const { outgoing, incoming } = await connected();
  const ended = new AbortController();
  const writer = writeToConnection(outgoing, manualClock(), ended);
  void writer.write(payload);
  ended.abort();
  let length = 0;
  for await (const piece of incoming) length += (piece as Buffer).byteLength;
  expect(length).toBe(payload.length);
});

test("[safety] a client that reads nothing cannot hold an ended connection open", async () => {
  const { outgoing } = await connected();
  const clock = manualClock();
  const ended = new AbortController();
  const writer = writeToConnection(outgoing, clock, ended);
  const written = writer.write(payload);
  ended.abort();
  await written;
  expect(outgoing.destroyed).toBe(false);
  await clock.advance(5_000);
  expect(outgoing.destroyed).toBe(true);
});

test("ending does not wait for a client that has disconnected", async () => {
  const { outgoing, incoming } = await connected();
  const clock = manualClock();
  const ended = new AbortController();
  writeToConnection(outgoing, clock, ended);
  incoming.destroy();
  await once(outgoing, "close");
  ended.abort();
  expect(clock.sleepers).toBe(0);
});
