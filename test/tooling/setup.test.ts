import { chmodSync, existsSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { writeFiles } from "@holdfast/testing/process/folder";
import { clone, cloneWithPage, countLines, lockOf, run, start } from "./setup-clone.ts";

const npmThatFails = (said: string): string =>
  `console.error(${JSON.stringify(said)}); process.exit(1);`;

test("a fresh clone is installed, with a message about it", async () => {
  const folder = clone();
  const { code, said, complaint } = await run(folder, "test");
  expect({ code, complaint }).toEqual({ code: 0, complaint: "" });
  expect(said).toEqual([
    "Installing packages …",
    expect.stringMatching(/^Installed in [\d.]+ s\.$/),
  ]);
  expect(readFileSync(join(folder, "npm-calls"), "utf8")).toMatch(
    /^install --no-save --include=dev /,
  );
});

test("without changes it prints nothing and runs nothing", async () => {
  const folder = cloneWithPage();
  await run(folder, "start");
  const second = await run(folder, "start");
  expect(second).toEqual({ code: 0, said: [], complaint: "" });
  expect(countLines(folder, "npm-calls")).toBe(1);
  expect(countLines(folder, "vite-calls")).toBe(1);
});

test.each([
  ["another version is locked", { "node_modules/zod": { version: "4.0.1" } }],
  ["a package is added", { "node_modules/zod": { version: "4.0.0" }, "node_modules/pg": {} }],
  ["a package is removed", {}],
  [
    "one of our packages gets a version of its own",
    { "node_modules/zod": { version: "4.0.0" }, "packages/host/node_modules/zod": {} },
  ],
])("it installs again when %s", async (_, packages) => {
  const folder = clone();
  await run(folder, "test");
  writeFiles(folder, {
    "package-lock.json": lockOf(packages),
    "npm/npm-cli.js": npmThatFails("called again"),
  });
  expect((await run(folder, "test")).complaint).toContain("called again");
});

test("optional packages of other platforms may be only locked or only installed", async () => {
  const folder = clone();
  await run(folder, "test");
  const zod = { version: "4.0.0" };
  const withOptional = (name: string): string =>
    lockOf({ "node_modules/zod": zod, [`node_modules/${name}`]: { optional: true } });
  writeFiles(folder, {
    "package-lock.json": withOptional("for-others"),
    "node_modules/.package-lock.json": withOptional("for-this-one"),
  });
  await run(folder, "test");
  expect(countLines(folder, "npm-calls")).toBe(1);
});

test("only the page's own sources make it build again", async () => {
  const folder = cloneWithPage();
  await run(folder, "start");
  writeFiles(folder, { "packages/web/src/main.test.ts": "changed" });
  await run(folder, "start");
  expect(countLines(folder, "vite-calls")).toBe(1);
  writeFiles(folder, { "packages/web/src/main.tsx": "changed" });
  await run(folder, "start");
  expect(countLines(folder, "vite-calls")).toBe(2);
  writeFiles(folder, { "packages/protocol/src/index.ts": "changed" });
  await run(folder, "start");
  expect(countLines(folder, "vite-calls")).toBe(3);
});

test("a page that doesn't build shows why, and is tried again", async () => {
  const folder = cloneWithPage();
  writeFiles(folder, { "packages/web/src/main.tsx": "broken" });
  const { code, complaint } = await run(folder, "start");
  expect(code).toBe(1);
  expect(complaint).toContain("unexpected token");
  expect(complaint.split("\n").at(-1)).toBe("Cannot build the page: see the message above.");
  writeFiles(folder, { "packages/web/src/main.tsx": "mended" });
  expect((await run(folder, "start")).code).toBe(0);
});

function expectOneSentence(result: { code: number | null; complaint: string }, sentence: RegExp) {
  expect(result.code).toBe(1);
  expect(result.complaint.split("\n")).toEqual([expect.stringMatching(sentence)]);
}

test("without a network it says so in one sentence (real npm, closed port)", async () => {
  const packages = { "": {}, "node_modules/zod": { version: "4.0.0" } };
  const folder = clone({
    "package.json": JSON.stringify({ name: "x", dependencies: { zod: "4.0.0" } }),
    "package-lock.json": lockOf({ ...packages, "": { dependencies: { zod: "4.0.0" } } }),
    ".npmrc": "registry=http://127.0.0.1:9/\nfetch-retries=0\ncache=./cache\n",
  });
  const withoutOurNpm = { npm_execpath: undefined, npm_config_registry: undefined };
  const result = await run(folder, "test", { env: withoutOurNpm });
  expectOneSentence(result, /^Cannot install: the npm registry is not reachable/);
});

test.each([
  ["npm error code EAI_AGAIN", /^Cannot install: the npm registry is not reachable/],
  ["npm error ENOSPC: no space left on device", /^Cannot install: the disk is full/],
  ["npm error code EACCES", /^Cannot install: npm was refused the right to write/],
])("npm's %s becomes one sentence", async (said, sentence) => {
  const folder = clone({ "npm/npm-cli.js": npmThatFails(said) });
  expectOneSentence(await run(folder, "test"), sentence);
});

test("a Node that is too old is told which one is needed", async () => {
  const pretend = `data:text/javascript,Object.defineProperty(process,"version",{value:"v18.20.8"})`;
  const result = await run(clone(), "test", { nodeFlags: ["--import", pretend] });
  expectOneSentence(result, /^Holdfast needs Node 20 or newer to install and this is v18\.20\.8/);
});

test("a Node 24 package whose install script did not run is named", async () => {
  const folder = clone({ "bin/node": "#!/bin/sh\necho v20.1.0\n" });
  chmodSync(join(folder, "bin/node"), 0o755);
  const env = { WITHOUT_NODE: "1", PATH: `${join(folder, "bin")}:/usr/bin:/bin` };
  const result = await run(folder, "test", { env });
  expectOneSentence(
    result,
    /install script did not run \(found: v20\.1\.0\): run `npm rebuild node/,
  );
});

test("a folder that isn't writable is named", async () => {
  const folder = clone();
  chmodSync(folder, 0o555);
  // Root may write anywhere, so the test drops its privileges.
  const nobody = userInfo().uid === 0 ? { uid: 65534 } : {};
  const result = await run(folder, "test", nobody);
  chmodSync(folder, 0o755);
  expectOneSentence(result, new RegExp(`^Cannot write to ${folder}: `));
});

test.each(["SIGINT", "SIGTERM"] as const)(
  "%s during an install ends npm first, and then the setup",
  async (signal) => {
    const hanging = `
    process.on("${signal}", () => { console.log("npm ends"); process.exit(1); });
    require("node:fs").writeFileSync("npm-pid", String(process.pid));
    setInterval(() => {}, 1000);
  `;
    const folder = clone({ "npm/npm-cli.js": hanging });
    const install = start(folder, "test");
    // The file is there before its content is.
    const pid = await vi.waitFor(() => {
      const text = readFileSync(join(folder, "npm-pid"), "utf8");
      expect(text).toMatch(/^\d+$/);
      return Number(text);
    }, 30_000);
    if (install.pid !== undefined) process.kill(install.pid, signal);
    expect((await install.exited).code).toBe(signal === "SIGINT" ? 130 : 143);
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    expect(existsSync(join(folder, "node_modules"))).toBe(false);
    expect(install.stderr()).toBe("");
  },
);
