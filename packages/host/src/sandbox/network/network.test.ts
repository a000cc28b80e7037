import { once } from "node:events";
import { createServer, type RequestListener, request } from "node:http";
import { connect, createServer as createTcpServer } from "node:net";
import type { AddressInfo } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { systemCode } from "../../util/outcome.ts";
import { createHomes, runConfined } from "../../../test/support/open-confinement.ts";

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  onTestFinished(() => void (server.closeAllConnections(), server.close()));
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test("[safety] a command reaches a host that was granted and that the egress rules allow, and it is recorded", async () => {
  const seen: unknown[] = [];
  const port = await serve((incoming, response) => {
    const forProxy = Object.keys(incoming.headers).filter((name) => name.startsWith("proxy-"));
    seen.push([incoming.url, incoming.headers.host, forProxy]);
    response.end("the answer");
  });
  const grant = { network: { hosts: ["127.0.0.1"] }, egressAllow: [`127.0.0.1:${port}`] };
  const byHand = `console.log(process.env.HTTPS_PROXY); const r = require("http").request({ host: "127.0.0.1", port: 47128, path: process.argv[1], headers: { "Proxy-Connection": "keep-alive", "Proxy-Authorization": "Basic b3duZXI=" } }, (a) => a.pipe(process.stdout)); r.end()`;
  const direct = await runConfined(
    createHomes(),
    [process.execPath, "-e", byHand, "--", `http://127.0.0.1:${port}/a?b`],
    grant,
  );
  expect(direct).toMatchObject({
    output: "http://127.0.0.1:47128\nthe answer",
    reached: [{ host: "127.0.0.1", port, outcome: "reached", times: 1 }],
  });
  expect(seen).toEqual([["/a?b", `127.0.0.1:${port}`, []]]);
});

test.each(["000", "099"])(
  "[safety] a granted host that answers with the status %s does not end this one",
  async (status) => {
    const server = createTcpServer((socket) =>
      socket.once("data", () => socket.end(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`)),
    );
    server.listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const ask = `require("http").get({ agent: false, host: "127.0.0.1", port: 47128, path: process.argv[1] }, (a) => console.log(a.statusCode))`;
    const end = await runConfined(
      createHomes(),
      [process.execPath, "-e", ask, "--", `http://127.0.0.1:${port}/`],
      { network: { hosts: ["127.0.0.1"] }, egressAllow: [`127.0.0.1:${port}`] },
    );
    expect(end.output).toBe("502\n");
  },
);

const connectByProxy = `const [target, first] = process.argv.slice(1);
  const r = require("http").request({ host: "127.0.0.1", port: 47128, method: "CONNECT", path: target });
  r.on("connect", (a, socket) => { console.log(a.statusCode); socket.write(first); socket.on("data", (d) => { console.log(String(d)); socket.destroy(); }); socket.on("close", () => process.exit(0)); });
  r.on("response", (a) => { console.log(a.statusCode); process.exit(0); });
  r.on("error", (e) => console.log(e.code)); r.end();`;

test("[safety] a tunnel carries bytes both ways, and only to what was granted", async () => {
  const server = createTcpServer((socket) =>
    socket.on("data", (data) => socket.write(`you said ${String(data)}`)),
  );
  server.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const egressAllow = [`127.0.0.1:${port}`, `localhost:${port}`];
  const run = (target: string) =>
    runConfined(createHomes(), [process.execPath, "-e", connectByProxy, "--", target, "hello"], {
      network: { hosts: ["127.0.0.1", "*.example.org"] },
      egressAllow,
    });
  expect(await run(`127.0.0.1:${port}`)).toMatchObject({ output: "200\nyou said hello\n" });
  // A host needs both: the operator's setting alone is no grant, and a grant alone does not lift the egress rules.
  for (const [target, status, outcome] of [
    [`localhost:${port}`, 403, "not_granted"],
    ["example.org:443", 403, "not_granted"],
    ["evil.test:443", 403, "not_granted"],
    ["127.0.0.1:443", 403, "address"],
  ] as const) {
    const [host = "", asked = ""] = target.split(":");
    const end = await run(target);
    expect(end.output).toBe(`${status}\n`);
    expect(end.reached).toEqual([{ host, port: Number(asked), outcome, times: 1 }]);
  }
  expect((await run("127.0.0.1:22")).output).toBe("400\n");
  expect((await run("a@127.0.0.1:443")).output).toBe("400\n");
});

test("[safety] without a grant there is no proxy, and with one there is no other way", async () => {
  const port = await serve((_, response) => response.end("reached"));
  const direct = `require("net").connect(${port}, "127.0.0.1").on("connect", () => console.log("OUT")).on("error", (e) => console.log(e.code)); require("net").connect(47128, "127.0.0.1").on("connect", () => { console.log("PROXY"); process.exit() }).on("error", (e) => console.log(e.code));`;
  const argv = [process.execPath, "-e", direct] as const;
  const none = await runConfined(createHomes(), argv);
  expect(none.output).toBe("ECONNREFUSED\nECONNREFUSED\n");
  const granted = await runConfined(createHomes(), argv, { network: { hosts: ["127.0.0.1"] } });
  expect(granted.output).toContain("ECONNREFUSED");
  expect(granted.output).toContain("PROXY");
  expect(granted.output).not.toContain("OUT");
});

test("[safety] a command cannot open as many connections through the proxy as the host has files", async () => {
  const port = await serve((_, response) => response.end());
  const asked = 300;
  const script = `let open = 0, over = 0; const all = [];
    const done = () => { if (open + over === ${asked}) { console.log(open); process.exit(0); } };
    for (let n = 0; n < ${asked}; n += 1) {
      const s = require("net").connect(47128, "127.0.0.1");
      s.write("GET http://127.0.0.1:${port}/ HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n");
      s.once("data", () => { open += 1; done(); });
      s.on("error", () => {}); s.once("close", () => { over += 1; done(); });
    }`;
  const end = await runConfined(createHomes(), [process.execPath, "-e", script], {
    network: { hosts: ["127.0.0.1"] },
    egressAllow: [`127.0.0.1:${port}`],
  });
  expect(end.output).toBe("256\n");
});

/** A new connection: a request could take one from before, which was reset. */
async function tryConnect(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return "connected";
  } catch (error) {
    return systemCode(error);
  } finally {
    socket.destroy();
  }
}

/** Starts a server inside on a port that it publishes. A port that another process took meanwhile is not used. */
async function startPublished(signal: AbortSignal) {
  for (;;) {
    const port = await takeFreePort();
    const up = Promise.withResolvers<"up">();
    const inside = `let n = 0; require("http").createServer((q, r) => { let s = ""; q.on("data", (d) => (s += d)); q.on("end", () => r.end(q.url + s.length + " " + ++n)); }).listen(${port}, "127.0.0.1", () => console.log("up"))`;
    const ended = runConfined(createHomes(), [process.execPath, "-e", inside], {
      publish: port,
      signal,
      onOutput: (text) => text.includes("up") && up.resolve("up"),
    });
    const first = await Promise.race([up.promise, ended]);
    if (first === "up") return { port, ended };
    expect(first).toEqual({ kind: "not_started", code: "EADDRINUSE", output: "" });
  }
}

async function takeFreePort(): Promise<number> {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

test("a published port can be opened from this machine while the command runs", async () => {
  const cancel = new AbortController();
  const { port, ended } = await startPublished(cancel.signal);
  const ask = (path: string, body: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const asked = request({ host: "127.0.0.1", port, path, method: "POST" }, (answer) => {
        let said = "";
        answer.setEncoding("utf8").on("data", (text: string) => (said += text));
        answer.on("end", () => resolve(said));
      });
      asked.on("error", reject);
      asked.end(body);
    });
  for (let n = 1; n <= 10; n += 1)
    expect(await ask(`/${n}`, "x".repeat(100_000))).toBe(`/${n}100000 ${n}`);
  const together = await Promise.all(Array.from({ length: 8 }, () => ask("/", "")));
  expect(together.map((said) => Number(said.split(" ")[1])).toSorted((a, b) => a - b)).toEqual([
    11, 12, 13, 14, 15, 16, 17, 18,
  ]);
  cancel.abort();
  expect(await ended).toMatchObject({ kind: "stopped" });
  // A process that another thread is just starting holds a copy of the listening socket until it runs its program.
  await expect.poll(() => tryConnect(port)).toBe("ECONNREFUSED");
});

test("a port that is taken is reported, and nothing runs", async () => {
  const port = await serve(() => undefined);
  const end = await runConfined(createHomes(), "echo ran", { publish: port });
  expect(end).toEqual({ kind: "not_started", code: "EADDRINUSE", output: "" });
});
