import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";

import { createAnonymousConnections } from "./anonymous-clients.ts";
import { openApi } from "../../../test/support/api-rig.ts";
import { openServer, readAll, statusIn } from "../../../test/support/raw-server.ts";

async function open(options: Parameters<typeof openServer>[1] = {}) {
  const rig = openApi(
    [],
    options.anonymousConnections === undefined
      ? {}
      : { anonymousConnections: options.anonymousConnections },
  );
  const server = await openServer(rig.app, options);
  onTestFinished(async () => {
    await server.close();
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  return { rig, server, bearer: `Authorization: ${rig.bearer["authorization"]}\r\n` };
}

const post = (path: string, headers: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${headers}\r\n`;

test.each([
  ["of unknown length", "Transfer-Encoding: chunked\r\n"],
  ["of a gigabyte", "Content-Length: 1073741824\r\n"],
])(
  "an anonymous body %s is not read further: the response is sent, and the connection closes",
  async (_, headers) => {
    const { server } = await open();
    const socket = await server.dial();
    const ended = readAll(socket);
    socket.write(post("/api/sessions", headers));
    // Sends for as long as the server reads.
    const chunk = `8000\r\n${"x".repeat(0x8000)}\r\n`;
    let sent = 0;
    const pour = (): void => {
      while (socket.writable && sent < 64 * 1024 * 1024) {
        sent += chunk.length;
        if (!socket.write(chunk)) return void socket.once("drain", pour);
      }
    };
    pour();
    const answer = await ended;
    expect(statusIn(answer)).toBe(401);
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  },
);

test("a refused request gets no 100 Continue", async () => {
  const { server, bearer } = await open();
  const expecting = "Expect: 100-continue\r\nContent-Length: 2\r\n";
  const refused = await server.dial();
  refused.write(post("/api/sessions", expecting));
  expect(await readAll(refused)).toMatch(/^HTTP\/1\.1 401 /);

  const welcome = await server.dial();
  welcome.write(post("/api/sessions", bearer + expecting));
  const [first] = (await once(welcome, "data")) as [Buffer];
  expect(first.toString()).toBe("HTTP/1.1 100 Continue\r\n\r\n");
  welcome.end("{}");
  expect(await readAll(welcome)).toMatch(/^HTTP\/1\.1 201 /);
});

test("an oversized body is answered before its end, and the connection closes", async () => {
  const { server, bearer } = await open();
  const socket = await server.dial();
  socket.write(post("/api/sessions", `${bearer}Transfer-Encoding: chunked\r\n`));
  socket.write(`200000\r\n${"x".repeat(0x200000)}`);
  expect(statusIn(await readAll(socket))).toBe(413);
});

test("[safety] an unfinished request head is cut off", async () => {
  const { server } = await open({ timeouts: { headMs: 100, checkMs: 20 } });
  const socket = await server.dial();
  socket.write("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ");
  expect(statusIn(await readAll(socket))).toBe(408);
});

test("a connection on which nothing was sent is closed without an answer that a request could take for its own", async () => {
  const { server } = await open({ timeouts: { headMs: 100, checkMs: 20 } });
  const socket = await server.dial();
  expect(await readAll(socket)).toBe("");
});

test("an unfinished request is cut off", async () => {
  const { server, bearer } = await open({ timeouts: { headMs: 100, requestMs: 200, checkMs: 20 } });
  const socket = await server.dial();
  socket.write(post("/api/sessions", `${bearer}Content-Length: 10\r\n`));
  socket.write("{");
  expect(statusIn(await readAll(socket))).toBe(408);
});

test("[safety] anonymous connections have a budget: the oldest is closed, and authenticated ones stay", async () => {
  const anonymousConnections = createAnonymousConnections({ total: 3, perAddress: 3 });
  const { server, bearer } = await open({ anonymousConnections });
  const ask = `GET /api/sign-ins HTTP/1.1\r\nHost: 127.0.0.1\r\n${bearer}\r\n`;
  const known = await server.dial();
  known.write(ask);
  await once(known, "data");
  expect(anonymousConnections.sockets.size).toBe(0);

  const gone: string[] = [];
  for (const name of ["a", "b", "c", "d", "e"]) {
    const socket = await server.dial();
    socket.on("close", () => gone.push(name)).resume();
  }
  await expect.poll(() => gone).toEqual(["a", "b"]);
  expect(anonymousConnections.sockets.size).toBe(3);
  known.write(ask);
  expect(String((await once(known, "data"))[0])).toMatch(/^HTTP\/1\.1 200 /);
});

test("[safety] a client that pipelines requests without reading holds only a few responses", async () => {
  const { server } = await open();
  const ask = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  const patient = await server.dial();
  let read = "";
  patient.setEncoding("latin1").on("data", (chunk: string) => (read += chunk));
  patient.write(ask.repeat(10));
  await expect.poll(() => read.match(/HTTP\/1\.1 200 /g)).toHaveLength(10);
  const greedy = await server.dial();
  greedy.write(ask.repeat(1_000));
  expect((await readAll(greedy)).match(/HTTP\/1\.1 200 /g) ?? []).toHaveLength(0);
});

const rebound = [
  "evil.example",
  "evil.example:80",
  "127.0.0.1.evil.example",
  "localhost.evil.example",
  "evil.example@127.0.0.1",
  "127.0.0.1@evil.example",
  "0x7f000001.evil.example",
  "[::1].evil.example",
  "",
];

test.each(rebound)(
  "the rebound host name %j reaches nothing, with or without the token",
  async (name) => {
    const { server, bearer } = await open();
    for (const path of ["/health", "/", "/api/sign-ins", "/api/events"]) {
      for (const shown of ["", bearer]) {
        const answer = await server.say(
          `GET ${path} HTTP/1.1\r\nHost: ${name}\r\n${shown}Connection: close\r\n\r\n`,
        );
        expect([path, [400, 403].includes(statusIn(answer))]).toEqual([path, true]);
      }
    }
  },
);

test.each([
  ["no Host at all", "GET /api/sign-ins HTTP/1.1\r\n"],
  ["two of them", "GET /api/sign-ins HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n"],
  [
    "a foreign address for its target",
    "GET http://evil.example/api/sign-ins HTTP/1.1\r\nHost: evil.example\r\n",
  ],
  [
    "another site as its origin",
    "GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://evil.example\r\n",
  ],
  ["an origin that is none", "GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: null\r\n"],
])("a request with %s is refused despite a valid token", async (_, head) => {
  const { server, bearer } = await open();
  const answer = await server.say(`${head}${bearer}Connection: close\r\n\r\n`);
  expect([400, 403]).toContain(statusIn(answer));
});

test("a request with two different lengths is refused", async () => {
  const { server, bearer } = await open();
  const both = "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n";
  const answer = await server.say(`${post("/api/sessions", bearer + both)}0\r\n\r\nGET /health`);
  expect(statusIn(answer)).toBe(400);
});
