import { expect, onTestFinished, test } from "vitest";

import { openApi } from "../../../test/support/api-rig.ts";
import { openServer, readAll, statusIn } from "../../../test/support/raw-server.ts";
import { createBodyBudget } from "./anonymous-clients.ts";

const size = { total: 300_000, perAddress: 200_000, freePerRequest: 8_192 };

/**
 * Small enough that a body is read at once: unread bytes of a refused request would reset the connection and lose the
 * response.
 */
const small = { total: 30_000, perAddress: 20_000, freePerRequest: 1_024 };

async function open() {
  const rig = openApi([], { bodyBudget: createBodyBudget(small) });
  const server = await openServer(rig.app);
  onTestFinished(async () => {
    await server.close();
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  return server;
}

const head = (path: string, headers: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n${headers}\r\n`;
const hook = "/api/gateway/webhook/ci";
const piece = `${(25_000).toString(16)}\r\n${"x".repeat(25_000)}\r\n`;

test("[safety] unverified signed requests share a body budget, and the rest are told when to retry", async () => {
  const server = await open();
  const first = await server.dial();
  first.write(head(hook, "Transfer-Encoding: chunked\r\n") + piece);
  const ask = async (headers: string, body: string) => {
    const socket = await server.dial();
    socket.write(head(hook, headers) + body);
    return readAll(socket);
  };
  // Once the first request's bytes have arrived.
  const announced = () => ask("Content-Length: 10000\r\n", "x".repeat(10_000));
  await expect.poll(async () => statusIn(await announced())).toBe(429);
  const refused = await ask("Transfer-Encoding: chunked\r\n", piece);
  expect([statusIn(refused), /^retry-after: 10\r$/im.test(refused)]).toEqual([429, true]);
  // A small request is still served.
  const brief = await server.dial();
  brief.write(head("/api/login", "Content-Length: 2\r\n") + "{}");
  expect(statusIn(await readAll(brief))).toBe(400);
  // A verified request frees its share.
  first.write("0\r\n\r\n");
  expect(statusIn(await readAll(first))).toBe(401);
  expect(statusIn(await ask("Transfer-Encoding: chunked\r\n", `${piece}0\r\n\r\n`))).toBe(401);
});

test("[safety] one address cannot use up the budget, and announced bytes do not count", () => {
  const room = createBodyBudget(size);
  const one = room.reserve("203.0.113.7");
  expect([one.take(100_000), one.take(100_000), one.take(100_000)]).toEqual([true, true, false]);
  expect([
    room.hasCapacity("203.0.113.7", 50_000),
    room.hasCapacity("203.0.113.8", 50_000),
  ]).toEqual([false, true]);
  // A proxy on this machine stands for many clients.
  expect([
    room.reserve("127.0.0.1").take(110_000),
    room.hasCapacity("203.0.113.8", 50_000),
  ]).toEqual([true, false]);
  one.release();
  one.release();
  expect([
    room.hasCapacity("203.0.113.8", 190_000),
    room.hasCapacity("203.0.113.7", 208_193),
  ]).toEqual([true, false]);
});

test("[safety] bytes of an answered request take no budget and are not read", () => {
  const room = createBodyBudget(size);
  const late = room.reserve("203.0.113.7");
  expect(late.take(150_000)).toBe(true);
  late.release();
  expect(late.take(1)).toBe(false);
  expect(room.hasCapacity("203.0.113.7", 208_192)).toBe(true);
});

test("[safety] an IPv6 /64 shares one body budget, whichever address is used", () => {
  const room = createBodyBudget(size);
  expect(room.reserve("2001:db8:0:7::1").take(200_000)).toBe(true);
  expect(room.hasCapacity("::1", 50_000)).toBe(true);
  expect(
    ["2001:db8:0:7:ffff::2", "2001:db8:0:8::1"].map((each) => room.hasCapacity(each, 50_000)),
  ).toEqual([false, true]);
});
