import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { connect } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { requirePage } from "../support/page.ts";
import { startHost, startProcess } from "../support/process.ts";
import { makeFolder, serveFreshHome, settingsFor } from "./host.ts";

beforeEach(requirePage);

test("serve prints one line, answers, keeps its token to itself, and ends cleanly on Ctrl-C", async () => {
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

  host.signal("SIGINT");
  expect(await host.exited).toEqual({ code: 0, signal: null });
  expect(host.lines).toHaveLength(1);
  expect(host.stderr()).toBe("");
});

test("SIGTERM ends it soon, although a client holds its connection open", async () => {
  const { host, address } = await serveFreshHome();
  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  // Half a request: the server waits for the rest of it.
  socket.write("POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n{");
  socket.on("error", () => undefined);

  const asked = performance.now();
  host.signal("SIGTERM");
  expect(await host.exited).toEqual({ code: 0, signal: null });
  expect(performance.now() - asked).toBeLessThan(2_000);
});

test("one Ctrl-C that npm passes on as two is still one", async () => {
  const { host } = await serveFreshHome();
  host.signal("SIGINT");
  host.signal("SIGINT");
  expect(await host.exited).toEqual({ code: 0, signal: null });
});

test("a home that was used before keeps its token", async () => {
  const first = await serveFreshHome();
  const token = readFileSync(join(first.home, "token"), "utf8");
  await first.host.kill();
  const second = await serveFreshHome({ HOLDFAST_HOME: first.home });
  expect(readFileSync(join(first.home, "token"), "utf8")).toBe(token);
  const headers = { authorization: `Bearer ${token.trim()}` };
  expect((await fetch(`${second.address}api/principal`, { headers })).status).toBe(200);
});

test("a token from the environment opens the door and is written nowhere", async () => {
  const { home, address } = await serveFreshHome({ HOLDFAST_TOKEN: "given-by-hand" });
  const headers = { authorization: "Bearer given-by-hand" };
  expect((await fetch(`${address}api/principal`, { headers })).status).toBe(200);
  expect(() => statSync(join(home, "token"))).toThrow("ENOENT");
});

test("a name that was pointed at this machine from elsewhere is refused over the wire", async () => {
  const { address } = await serveFreshHome();
  const status = await new Promise((resolve, reject) => {
    request(`${address}health`, { headers: { host: "evil.example" } })
      .on("response", (answer) => resolve(answer.statusCode))
      .on("error", reject)
      .end();
  });
  expect(status).toBe(403);
});

async function failureOf(args: string[], settings: Record<string, string>) {
  const host = startHost(args, { env: settingsFor(settings) });
  const { code } = await host.exited;
  expect(host.lines).toEqual([]);
  return { code, sentence: host.stderr() };
}

test("a port that is taken is told in one sentence", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const address = other.address();
  const port = String(typeof address === "object" ? address?.port : address);
  const home = makeFolder();
  expect(await failureOf(["serve", "--port", port], { HOLDFAST_HOME: home })).toEqual({
    code: 1,
    sentence: `Port ${port} on 127.0.0.1 is taken by another program: end that one, or choose another port with HOLDFAST_PORT.\n`,
  });
});

test("a second start on the same home, or beside another's, says that Holdfast runs there, and where", async () => {
  const { home, address } = await serveFreshHome();
  const { port } = new URL(address);
  const again = await failureOf(["serve", "--port", port], { HOLDFAST_HOME: home });
  expect(again.code).toBe(1);
  expect(again.sentence).toContain(`Holdfast is already running on this home, at ${address}:`);
  const beside = await failureOf(["serve", "--port", port], { HOLDFAST_HOME: makeFolder() });
  expect(beside.sentence).toMatch(
    `Another Holdfast, with a home of its own, is already running at ${address}:`,
  );
});

test("a home that cannot be made is told in one sentence", async () => {
  const file = join(makeFolder(), "file");
  writeFileSync(file, "");
  const home = join(file, "home");
  expect(await failureOf(["serve"], { HOLDFAST_HOME: home })).toEqual({
    code: 1,
    sentence: `The home folder ${home} cannot be written (ENOTDIR): make it writable, or name another with HOLDFAST_HOME.\n`,
  });
});

test("a setting that is out of bounds is told in one sentence", async () => {
  expect(await failureOf(["serve"], { HOLDFAST_PORT: "eighty" })).toEqual({
    code: 1,
    sentence: `The environment variable HOLDFAST_PORT is "eighty"; it must be a port number from 0 to 65535 (0 takes any free port).\n`,
  });
});

test("a short token does not open the host to other machines", async () => {
  const settings = {
    HOLDFAST_HOME: makeFolder(),
    HOLDFAST_HOST: "0.0.0.0",
    HOLDFAST_TOKEN: "short",
  };
  const { code, sentence } = await failureOf(["serve"], settings);
  expect(code).toBe(1);
  expect(sentence).toMatch(/^The token is too short to serve other machines on 0\.0\.0\.0: .*\n$/);
});

test("an unknown command and an unknown flag are each told in one sentence", async () => {
  expect(await failureOf(["srve"], {})).toEqual({
    code: 2,
    sentence: `"srve" is not a command of Holdfast. Did you mean "serve"? "holdfast --help" says what each does.\n`,
  });
  expect(await failureOf(["serve", "--prot", "1"], {})).toEqual({
    code: 2,
    sentence: `Unknown option '--prot'.\n`,
  });
});

test("help lists every command, a command's help its settings, and version is the bare number", async () => {
  const help = startHost(["--help"]);
  expect(await help.exited).toMatchObject({ code: 0 });
  expect(help.lines.join("\n")).toMatch(/serve[\s\S]+chat[\s\S]+run[\s\S]+sessions/);
  const serve = startHost(["serve", "--help"]);
  expect(await serve.exited).toMatchObject({ code: 0 });
  expect(serve.lines.join("\n")).toMatch(/Examples:[\s\S]+--base-path +HOLDFAST_BASE_PATH/);
  const version = startHost(["--version"]);
  expect(await version.exited).toMatchObject({ code: 0 });
  expect(version.lines).toEqual(["0.1.0"]);
});

test("a Node that is too old is told in one sentence what to do", async () => {
  const older = `Object.defineProperty(process, "versions", { value: { node: "20.1.0" } })`;
  const preload = `data:text/javascript,${encodeURIComponent(older)}`;
  const host = startProcess(["--import", preload, "packages/host/bin/holdfast.mjs", "serve"]);
  expect(await host.exited).toMatchObject({ code: 1 });
  expect(host.stderr()).toMatch(/^Holdfast needs Node 24 or newer .*\n$/);
});

test("the door for people leads to the same commands", async () => {
  const version = startProcess(["packages/host/bin/holdfast.mjs", "--version"]);
  expect(await version.exited).toMatchObject({ code: 0 });
  expect(version.lines).toEqual(["0.1.0"]);
});
