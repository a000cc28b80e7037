import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, shortId } from "@holdfast/client";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { openMcpHttpServer } from "@holdfast/testing/host/mcp-http-server";
import { runHere, serveHere } from "../../test/support/command-rig.ts";
import { announceHost } from "./connection/running-hosts.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** One host for all of these tests: they don't interfere with each other. */
let served: Awaited<ReturnType<typeof serveHere>>;
const servedHome = mkdtempSync(join(tmpdir(), "holdfast-cli-served-"));
beforeAll(async () => {
  served = await serveHere(servedHome);
});
afterAll(async () => {
  await served.close();
  rmSync(servedHome, { recursive: true, force: true });
});

test("every command has help with usage, flags and examples, and --version prints the bare number", async () => {
  expect(await runHere(["--version"], {})).toEqual({ code: 0, said: "0.1.0\n", told: "" });
  const { said } = await runHere(["--help"], {});
  const names = [...said.matchAll(/^ {2}([a-z]+) {2,}/gm)].map((match) => match[1] ?? "");
  expect(names).toEqual(expect.arrayContaining(["serve", "chat", "run", "doctor", "restore"]));
  for (const name of names) {
    const help = await runHere([name, "--help"], {});
    expect(help).toMatchObject({ code: 0, told: "" });
    expect(help.said).toMatch(new RegExp(`^Usage: holdfast ${name}`));
    expect(help.said).toContain("Examples:");
  }
});

test("config shows each value with its source, and no secret", async () => {
  const home = makeHome();
  writeFileSync(join(home, "config.json"), `{"port": 9001}`);
  const settings = { HOLDFAST_HOME: home, HOLDFAST_TOKEN: "hush-hush", HOLDFAST_RESUME: "ask" };
  const { said } = await runHere(["config", "--host", "::1"], settings);
  expect(said).toMatch(/^host +--host +::1$/m);
  expect(said).toMatch(/^resume +HOLDFAST_RESUME +ask$/m);
  expect(said).toMatch(new RegExp(`^port +${join(home, "config.json")} +9001$`, "m"));
  expect(said).toMatch(/^token +HOLDFAST_TOKEN +\(hidden\)$/m);
  const longSettings = { ...settings, HOLDFAST_ORIGIN: `https://${"a".repeat(60)}.example.org` };
  const rows = (await runHere(["config"], longSettings)).said.trimEnd().split("\n");
  const columns = rows.map((row) => /^(\S+ +)(\S+ +)/.exec(row)?.slice(1, 3).join("").length);
  expect(new Set(columns).size).toBe(1);
  expect(said).not.toContain("hush-hush");
  expect((await runHere(["config", "get", "port"], settings)).said).toBe("9001\n");
  expect(await runHere(["config", "set", "prot", "1"], settings)).toMatchObject({
    code: 2,
    told: '"prot" is not a setting. Did you mean port? holdfast config lists them.\n',
  });
});

test.each([
  ["srve", 'Did you mean "serve"?'],
  ["exprot", 'Did you mean "export"?'],
  ["res", 'Did you mean "restore"?'],
  ["foo", "The commands are serve, chat, run,"],
])("%s is not a command: it says so, and %s", async (typed, hint) => {
  const { code, told } = await runHere([typed], {});
  expect(code).toBe(2);
  expect(told).toMatch(`"${typed}" is not a command of Holdfast. ${hint}`);
});

test("an answer repeated after a failure is written once, and a provider's wait is reported", async () => {
  const { code, said, told } = await runHere(
    ["run", "{words:4}{fail:429}{words:2}"],
    served.settings,
  );
  expect(code).toBe(0);
  expect(said.trim().split(/\s+/)).toHaveLength(6);
  expect(told).toContain("The provider is busy. Retrying soon.");
});

test.each([
  ["a failure exits with 1", "{fail:400}", 1, /The answer failed/],
  [
    "a call that needs approval exits with 6",
    '{tool:terminal {"command":["ls","a b"]}}',
    6,
    /terminal: ls 'a b'\nAnswer with holdfast chat --session [a-z0-9]{6}, on the page/,
  ],
  ["an empty prompt exits with 2", "", 2, /Enter a prompt/],
])("run: %s", async (_, prompt, code, told) => {
  const end = await runHere(["run", prompt], served.settings);
  expect(end.code).toBe(code);
  expect(end.told).toMatch(told);
});

/** Without the page, which may not be built here. */
const serving = ["serve", "--roles", "runner"];

test("a host that cannot start says why in one sentence", async () => {
  const file = join(makeHome(), "file");
  writeFileSync(file, "");
  const home = join(file, "home");
  expect(await runHere(serving, { HOLDFAST_HOME: home })).toEqual({
    code: 1,
    said: "",
    told: `The home folder ${home} cannot be written (ENOTDIR): make it writable, or name another with HOLDFAST_HOME.\n`,
  });
  expect(await runHere(serving, { HOLDFAST_PORT: "eighty" })).toEqual({
    code: 1,
    said: "",
    told: `The environment variable HOLDFAST_PORT is "eighty"; it must be a port number from 0 to 65535 (0 takes any free port).\n`,
  });
  const openSettings = {
    HOLDFAST_HOST: "0.0.0.0",
    HOLDFAST_TOKEN: "short",
    HOLDFAST_HOME: makeHome(),
  };
  expect((await runHere(serving, openSettings)).told).toMatch(
    /^The token is too short to serve other machines on 0\.0\.0\.0: .*\n$/,
  );
  expect(await runHere(["serve", "--prot", "1"], {})).toEqual({
    code: 2,
    said: "",
    told: expect.stringMatching(
      /^There is no flag --prot\. Did you mean --port.*"holdfast serve --help" lists what it takes\.\n$/,
    ) as string,
  });
});

test("a second start on the same home or port says that Holdfast runs there, and where", async () => {
  const { HOLDFAST_URL: url } = served.settings;
  const args = [...serving, "--port", new URL(url).port];
  const otherHome = await runHere(args, { HOLDFAST_HOME: makeHome() });
  expect(otherHome.told).toContain(
    `Another Holdfast, with a home of its own, is already running at ${url}/. To serve`,
  );
  onTestFinished(announceHost(servedHome, `${url}/`));
  const { code, said, told } = await runHere(args, { HOLDFAST_HOME: servedHome });
  expect([code, said]).toEqual([1, ""]);
  expect(told).toContain(`Holdfast is already running on this home, at ${url}/. Use that one`);
});

const findings = z.array(
  z.object({
    what: z.string(),
    state: z.enum(["good", "care", "bad"]),
    words: z.string(),
    mend: z.string().optional(),
  }),
);

async function runDoctor(settings: Record<string, string>) {
  const { code, said } = await runHere(["doctor", "--json"], settings);
  const found = findings.parse(JSON.parse(said));
  return {
    code,
    findingsFor: (what: string) => found.filter((finding) => finding.what === what),
    found,
  };
}

test("doctor finds nothing wrong with a working host, and says how to mend everything it names", async () => {
  const { settings } = served;
  const { code, found, findingsFor } = await runDoctor({ ...settings, HOLDFAST_PORT: "0" });
  expect({ code, bad: found.filter(({ state }) => state === "bad") }).toEqual({ code: 0, bad: [] });
  expect(findingsFor("Model")).toMatchObject([{ state: "care" }]);
  for (const { state, mend } of found) expect(mend === undefined).toBe(state === "good");
  for (const what of ["Node", "SQLite", "Disk sync", "Free space", "Store", "Clock", "Memory"])
    expect(findingsFor(what)).toMatchObject([{ state: "good" }]);
});

test("doctor reports wrong rights, a spill, a taken port and an unreachable database", async () => {
  const { settings } = served;
  const home = servedHome;
  const spill = join(home, "spill", "run_x-1.spill");
  chmodSync(home, 0o755);
  chmodSync(join(home, "token"), 0o644);
  writeFileSync(spill, "");
  onTestFinished(() => {
    rmSync(spill);
    chmodSync(join(home, "token"), 0o600);
    chmodSync(home, 0o700);
  });
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const address = other.address();
  const port = String(typeof address === "object" ? address?.port : "");
  const { code, findingsFor } = await runDoctor({
    ...settings,
    HOLDFAST_PORT: port,
    HOLDFAST_STORE: "postgres://nobody@127.0.0.1:1/none",
  });
  expect(code).toBe(1);
  expect(findingsFor("Home")).toMatchObject([{ state: "bad", mend: `chmod 700 ${home}` }]);
  expect(findingsFor("Rights")).toContainEqual({
    what: "Rights",
    state: "bad",
    words: `${join(home, "token")} is open to others (644)`,
    mend: `chmod 600 ${join(home, "token")}`,
  });
  expect(findingsFor("Spills")).toMatchObject([{ state: "care" }]);
  expect(findingsFor("Port")).toMatchObject([{ state: "bad" }]);
  expect(findingsFor("PostgreSQL")).toMatchObject([{ state: "bad" }]);
});

test("doctor counts the tools of MCP servers, and reports the one that is away", async () => {
  const server = await openMcpHttpServer();
  onTestFinished(server.close);
  const mcp = { wiki: { url: server.url }, gone: { command: "/nowhere/at-all" } };
  const settings = { HOLDFAST_HOME: makeHome(), HOLDFAST_PORT: "0" };
  const { code, findingsFor } = await runDoctor({ ...settings, HOLDFAST_MCP: JSON.stringify(mcp) });
  expect(findingsFor("MCP wiki")).toMatchObject([{ state: "good", words: "reachable, 6 tools" }]);
  // It also has the host's network, which is worth a word.
  expect(findingsFor("MCP gone")).toMatchObject([{ state: "care" }, { state: "bad" }]);
  expect(code).toBe(1);
});

test("doctor stops at a missing home and at invalid settings", async () => {
  const file = join(makeHome(), "file");
  writeFileSync(file, "");
  expect(await runDoctor({ HOLDFAST_HOME: join(file, "home") })).toMatchObject({ code: 1 });
  const { code, findingsFor } = await runDoctor({
    HOLDFAST_HOME: makeHome(),
    HOLDFAST_PORT: "eighty",
  });
  expect({ code, settings: findingsFor("Settings") }).toMatchObject({
    settings: [{ state: "bad" }],
  });
});

test("an export can be imported again, and never overwrites a file", async () => {
  const { settings } = served;
  await runHere(["run", "tomatoes {words:3}"], settings);
  expect((await runHere(["export", "tomatoes"], settings)).said).toMatch(
    /tomatoes[\s\S]+A holdfast is\./,
  );
  const file = join(makeHome(), "out.json");
  const exportArgs = ["export", "tomatoes", "--format", "json", "--to", file];
  expect(await runHere(exportArgs, settings)).toMatchObject({ code: 0 });
  expect(await runHere(exportArgs, settings)).toMatchObject({ code: 1 });
  expect((await runHere(["import", file], settings)).said).toMatch(/^Imported: ses_/);
  expect(await runHere(["import", join(servedHome, "token")], settings)).toMatchObject({ code: 1 });
});

test("a backup is restored only into an empty home, and fsck finds it clean", async () => {
  const { settings } = served;
  expect(await runHere(["run", "{words:2}"], settings)).toMatchObject({ code: 0 });
  expect((await runHere(["backup"], settings)).said).toContain(join(servedHome, "backups"));
  const [name = ""] = readdirSync(join(servedHome, "backups"));
  const restored = { HOLDFAST_HOME: join(makeHome(), "new") };
  const backupFolder = join(servedHome, "backups", name);
  expect(await runHere(["restore", backupFolder], restored)).toMatchObject({ code: 0 });
  expect(await runHere(["restore", backupFolder], restored)).toMatchObject({ code: 1 });
  const { code, said } = await runHere(["fsck"], restored);
  expect(code).toBe(0);
  expect(said).toMatch(/^[1-9]\d* sessions, \d+ events: clean\.\n$/);
});

test("completion suggests the serving host's sessions by the end of their id and by words of their title", async () => {
  const { settings } = served;
  const client = createClient({ baseUrl: settings.HOLDFAST_URL, token: settings.HOLDFAST_TOKEN });
  const created = await client.createSession({ body: { title: "Rose\tgarden" } });
  if (!created.ok) throw new Error("no session");
  await client.createSession({ body: { title: "Taxes" } });
  const id = shortId(created.value.session.id);
  const line = { code: 0, said: `${id}\tRose garden\n`, told: "" };
  expect(await runHere(["__complete", "session", "SE GAR"], settings)).toEqual(line);
  expect(await runHere(["__complete", "session", id], settings)).toEqual(line);
  expect((await runHere(["__complete", "session", ""], settings)).said).toContain("Taxes");
  expect(await runHere(["__complete", "model", "reh"], settings)).toMatchObject({
    said: "rehearsal\n",
  });
});
