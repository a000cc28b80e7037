import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, request } from "node:http";
import { connect } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { requirePage } from "./page/require-page.ts";
import { startHost, startProcess } from "@holdfast/testing/process/start-process";
import { makeFolder, serveFreshHome, settingsFor } from "./served-host.ts";

beforeEach(requirePage);

test("serve prints one line, answers, keeps its token to itself, and exits cleanly on Ctrl-C", async () => {
  const { host, home, link, address } = await serveFreshHome();
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#signin=[\w-]{43}$/);

  const health = await fetch(`${address}health`);
  expect(await health.json()).toEqual({
    status: "ok",
    version: "0.1.0",
    ready: true,
    reasons: [],
    roles: ["web", "runner", "gateway"],
    store: { kind: "sqlite", ready: true },
  });

  expect(statSync(home).mode & 0o777).toBe(0o700);
  expect(statSync(join(home, "token")).mode & 0o777).toBe(0o600);
  const token = readFileSync(join(home, "token"), "utf8").trim();
  const headers = { authorization: `Bearer ${token}` };
  expect((await fetch(`${address}api/principal`, { headers })).status).toBe(200);

  // npm forwards a Ctrl-C that the terminal has already sent: two still count as one.
  host.signal("SIGINT");
  host.signal("SIGINT");
  expect(await host.exited).toEqual({ code: 0, signal: null });
  expect(readdirSync(join(home, "running"))).toEqual([]);
  expect(host.lines).toHaveLength(1);
  expect(host.stderr()).toBe("");

  const again = await serveFreshHome({ HOLDFAST_HOME: home });
  expect(readFileSync(join(home, "token"), "utf8").trim()).toBe(token);
  expect((await fetch(`${again.address}api/principal`, { headers })).status).toBe(200);
});

test("[safety] a host name that was rebound to this machine is refused over the wire; SIGTERM ends it although a client holds its connection open", async () => {
  const { host, home, address } = await serveFreshHome({ HOLDFAST_TOKEN: "given-by-hand" });
  const status = await new Promise((resolve, reject) => {
    request(`${address}health`, { headers: { host: "evil.example" } })
      .on("response", (answer) => resolve(answer.statusCode))
      .on("error", reject)
      .end();
  });
  expect(status).toBe(403);

  // A token from the environment is accepted, and written nowhere.
  const headers = { authorization: "Bearer given-by-hand" };
  expect((await fetch(`${address}api/principal`, { headers })).status).toBe(200);
  expect(() => statSync(join(home, "token"))).toThrow("ENOENT");

  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  // Half a request: the server waits for the rest of it.
  socket.write("POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n{");
  socket.on("error", () => undefined);
  host.signal("SIGTERM");
  expect(await host.exited).toEqual({ code: 0, signal: null });
});

test("a port that is in use is reported in one sentence", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const address = other.address();
  const port = String(typeof address === "object" ? address?.port : address);
  const env = settingsFor({ HOLDFAST_HOME: makeFolder() });
  const host = startHost(["serve", "--port", port], { env });
  expect(await host.exited).toMatchObject({ code: 1 });
  expect(host.lines).toEqual([]);
  expect(host.stderr()).toBe(
    `Port ${port} on 127.0.0.1 is taken by another program: end that one, or choose another port with HOLDFAST_PORT.\n`,
  );
});

test("in a clone, a Node that is too old leaves the command to the Node that the clone brings", async () => {
  const bin = "packages/host/bin/holdfast.mjs";
  const older = `Object.defineProperty(process, "versions", { value: { node: "20.1.0" } })`;
  const asOlder = ["--import", `data:text/javascript,${encodeURIComponent(older)}`, bin];
  const version = startProcess([...asOlder, "--version"]);
  expect(await version.exited).toMatchObject({ code: 0 });
  expect(version.lines).toEqual(["0.1.0"]);
  const refused = startProcess([...asOlder, "--nonsense"]);
  expect(await refused.exited).toMatchObject({ code: 2 });
  // What ends the command ends the host behind it.
  const env = settingsFor({ HOLDFAST_HOME: makeFolder() });
  const host = startProcess([...asOlder, "serve", "--port", "0"], { env });
  await host.line((line) => line.startsWith("Holdfast is at "));
  if (host.pid !== undefined) process.kill(host.pid, "SIGTERM");
  expect(await host.exited).toEqual({ code: 0, signal: null });
});

/** Preloaded into a host: prints what its process began with, and what its commands would inherit. */
const noteArenas = `
  import { readFileSync } from "node:fs";
  import { isMainThread } from "node:worker_threads";
  if (isMainThread) process.on("exit", () => {
    const began = /MALLOC_ARENA_MAX=\\d+/.exec(readFileSync("/proc/self/environ", "utf8"));
    const { MALLOC_ARENA_MAX: inherited = "none" } = process.env;
    console.log("pid", process.pid, "began with", began?.[0] ?? "none", "hands on", inherited);
  });
`;

test("on Linux a host re-executes itself with fewer arenas, in the same process, and its commands don't inherit that", async () => {
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(noteArenas)}`;
  // Not a port: the host ends at once.
  const start = (env: Record<string, string>) =>
    startProcess(["packages/host/bin/holdfast.mjs", "serve", "--port", "none"], {
      env: settingsFor({ HOLDFAST_HOME: makeFolder(), NODE_OPTIONS, ...env }),
    });
  const [host, limited] = [start({}), start({ MALLOC_ARENA_MAX: "7" })];
  expect(await host.exited).toMatchObject({ code: 1 });
  expect(host.lines).toEqual([`pid ${host.pid} began with MALLOC_ARENA_MAX=2 hands on none`]);
  expect(await limited.exited).toMatchObject({ code: 1 });
  expect(limited.lines).toEqual([`pid ${limited.pid} began with MALLOC_ARENA_MAX=7 hands on 7`]);
});
