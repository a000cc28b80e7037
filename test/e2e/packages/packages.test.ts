import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "@holdfast/client";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startProcess } from "@holdfast/testing/process/start-process";
import { settings, startBackgroundProcess } from "../background-processes-scenario.ts";
import { requirePage } from "../page/require-page.ts";
import { makeFolder, valueOf } from "../served-host.ts";
import { type InstalledPackages, installPackages } from "./installed-packages.ts";

beforeEach(requirePage);

let installed: InstalledPackages;
const cleanups: (() => void | Promise<void>)[] = [];
beforeAll(async () => {
  installed = await installPackages((end) => void cleanups.unshift(end));
}, 600_000);
afterAll(async () => {
  for (const end of cleanups) await end();
});

const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();

test("installing Holdfast brings no test tools and no sources", () => {
  const modules = join(installed.folder, "node_modules");
  const manifest = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  const { devDependencies } = JSON.parse(manifest) as { devDependencies: Record<string, string> };
  const tools = Object.keys(devDependencies).filter((name) => existsSync(join(modules, name)));
  // PostgreSQL's driver and its types are part of the store, the SDK for editors is part of the host.
  expect(tools.toSorted()).toEqual(["@agentclientprotocol/sdk", "@types/node", "@types/pg", "pg"]);
  const files = listFiles(join(modules, "@holdfast"));
  expect(files).toContain("host/LICENSE");
  expect(files.filter((file) => /(?<!\.d)\.tsx?$|\.test\.|^[^/]+\/src/.test(file))).toEqual([]);
});

test("npx holdfast serves the page, signs in, answers and uses its threads", async () => {
  const { folder, environment } = installed;
  const home = join(makeFolder(), "home");
  const env = environment({ HOLDFAST_HOME: home, ...settings });
  const before = listFiles(join(folder, "node_modules"));
  const host = startProcess(["holdfast", "serve"], { command: "npx", cwd: folder, env });
  const line = await host.line((text) => text.startsWith("Holdfast is at "));
  const [, address = "", code = ""] = /^Holdfast is at (\S+)#signin=(\S+)/.exec(line) ?? [];

  const page = await (await fetch(address)).text();
  const assets = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = ""]) => path);
  expect(assets.length).toBeGreaterThan(2);
  for (const asset of assets) {
    const { status, headers } = await fetch(new URL(asset, address));
    expect([asset, status, headers.get("content-type")]).toEqual([
      asset,
      200,
      expect.stringMatching(/^(?:text\/|image\/|application\/manifest)/),
    ]);
  }

  const pageKey = "k".repeat(43);
  const signIn = await fetch(new URL("api/login", address), {
    method: "POST",
    headers: { "content-type": "application/json", origin: new URL(address).origin },
    body: JSON.stringify({ code, pageKey }),
  });
  expect(signIn.status).toBe(204);
  const cookie = signIn.headers
    .getSetCookie()
    .map((one) => one.split(";")[0])
    .join("; ");
  const principal = await fetch(new URL("api/principal", address), {
    headers: { cookie, "x-holdfast-page-key": pageKey },
  });
  expect(await principal.json()).toMatchObject({ principal: { by: "sign-in" } });

  const token = readFileSync(join(home, "token"), "utf8").trim();
  const client = createClient({ baseUrl: address, token });
  const { session } = valueOf(await client.createSession({ body: {} }));
  const params = { id: session.id };
  const text = '{tool:grep {"pattern":"marmalade"}} {words:3} about marmalade';
  valueOf(await client.sendMessage({ params, body: { clientId: "first", text } }));
  const read = async () =>
    valueOf(await client.readSession({ params })).entries.flatMap((entry) =>
      entry.type === "message" ? entry.parts.map((part) => ({ role: entry.role, ...part })) : [],
    );
  // The tool searches in a thread.
  await expect
    .poll(read)
    .toContainEqual(expect.objectContaining({ type: "tool_result", output: "No line matches." }));
  await expect
    .poll(read)
    .toContainEqual(expect.objectContaining({ role: "assistant", type: "text" }));
  await expect
    .poll(async () => valueOf(await client.search({ query: { q: "marmalade" } })).hits.length)
    .toBeGreaterThan(0);
  const id = await startBackgroundProcess(client, "exit 7");
  await expect
    .poll(async () => valueOf(await client.listProcesses({ params: { id } })).processes)
    .toMatchObject([{ state: "ended", end: "ended with exit code 7" }]);
  valueOf(await client.backup({}));
  expect(readdirSync(join(home, "backups"))).toHaveLength(1);

  host.signal("SIGTERM");
  await host.exited;
  expect(host.stderr()).toBe("");
  expect(listFiles(join(folder, "node_modules"))).toEqual(before);
  // Compiled code is cached in the user's folder, not in the package.
  const ofPerson = listFiles(join(folder, "person"));
  expect(ofPerson).toContainEqual(expect.stringMatching(/caches?\/holdfast\/compiled$/i));
});

/** The old Nodes on this machine, and a current one that claims to be old. */
function oldNodes() {
  const older = `Object.defineProperty(process, "versions", { value: { node: "20.1.0" } })`;
  const bin = "node_modules/@holdfast/host/bin/holdfast.mjs";
  const pretended = {
    name: "one that claims to be 20.1",
    command: process.execPath,
    args: ["--import", `data:text/javascript,${encodeURIComponent(older)}`, bin],
    path: process.env["PATH"],
  };
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const nodes = folders.map((folder) => join(folder, "node")).filter((node) => existsSync(node));
  const found = new Set(nodes.map((node) => realpathSync(node)));
  const real = [...found].flatMap((node) => {
    const name = execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
    if (Number.parseInt(name.slice(1), 10) >= 24) return [];
    const path = [dirname(node), ...folders].join(delimiter);
    return [{ name, command: "npx", args: ["holdfast"], path }];
  });
  return [pretended, ...real];
}

test.each(oldNodes())(
  "on a Node that is too old ($name), npx holdfast prints one sentence and writes no file",
  async ({ command, args, path }) => {
    const { folder, environment } = installed;
    const person = makeFolder();
    const npm = { npm_config_cache: join(folder, "cache") };
    const env = { ...environment(), ...npm, HOME: person, PATH: path };
    const run = startProcess([...args, "serve"], { command, cwd: folder, env });
    expect(await run.exited).toEqual({ code: 1, signal: null });
    expect(run.stdout()).toBe("");
    expect(run.stderr()).toMatch(
      /^Holdfast needs Node 24 or newer and this is v\d[^\n]*: install a current Node[^\n]*\n$/,
    );
    expect(readdirSync(person)).toEqual([]);
  },
);

/** Programs that are copied to the installation and run there, and the last line that each prints. */
const examples = [
  [
    "../../../examples/embed-the-engine",
    expect.stringMatching(/^This is answer 1\. .* printed in the sea charts\.$/),
  ],
  ["../../../examples/write-a-store", "100 squared is 10000."],
  ["../../../examples/write-a-memory-provider", expect.stringContaining("I like black coffee.")],
  ["./open-a-store.ts", "opened, 0 problems, no failure"],
  ["./check-a-store.ts", "many cases, 0 problems"],
  ["./count-tokens.ts", '{"id":1,"tokens":3}'],
] as const;

/** An example is a script, or a folder with a `main.ts`. */
const copyExample = (example: string): string => {
  const source = fileURLToPath(new URL(example, import.meta.url));
  const name = basename(source);
  cpSync(source, join(installed.folder, name), { recursive: true });
  return name.endsWith(".ts") ? name : join(name, "main.ts");
};

test.each(examples)("%s runs outside a clone", async (example, last) => {
  const { folder, environment } = installed;
  const env = environment({ MS_PER_WORD: "1" });
  const run = startProcess([copyExample(example)], { cwd: folder, env });
  expect({ ...(await run.exited), stderr: run.stderr() }).toMatchObject({ code: 0, stderr: "" });
  expect(run.lines.at(-1)).toEqual(last);
});

test("the programs and all types they use compile outside a clone", async () => {
  const { folder, environment } = installed;
  const tsc = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url));
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "esnext"];
  const talkative = ["write-a-tool", "write-a-platform-adapter"];
  const folders = talkative.map((name) => `../../../examples/${name}`);
  const files = [...examples.map(([example]) => example), ...folders].map(copyExample);
  const args = [tsc, ...options, "--types", "node", "--allowImportingTsExtensions", ...files];
  const run = startProcess(args, { cwd: folder, env: environment() });
  expect({ ...(await run.exited), said: run.stdout() }).toEqual({
    code: 0,
    signal: null,
    said: "",
  });
});
