import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { until } from "@holdfast/testing/rigs/run-rig";
import { expect, onTestFinished, test } from "vitest";

import type { McpServers } from "../../ops/config/mcp-servers.ts";
import { openMcpRig, readServerLog, misbehavingServer } from "../../../test/support/mcp/mcp-rig.ts";
import { withoutFileHandles } from "@holdfast/testing/host/without-file-handles";
import { openMcp } from "./mcp.ts";
import { unconfined } from "../../../test/support/open-confinement.ts";

function diaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-mcp-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "diary");
}

function open(servers: McpServers) {
  const rig = openMcpRig(servers);
  onTestFinished(() => rig.stop());
  return rig;
}

const callsIn = (diary: string) => readServerLog(diary).filter((line) => line.startsWith("call "));

test("[P7] [P9] a server that dies during a call leaves it unknown, restarts, is not asked twice, and keeps its tools", async () => {
  const diary = diaryFile();
  const rig = open({ strange: misbehavingServer("plain", diary) });
  const { hash } = await rig.mcp.tools();
  const died = await rig.call("strange__die");
  expect(died).toMatchObject({ outcome: "unknown" });
  expect(died.output).toContain("is not known");
  expect(await rig.mcp.tools()).toMatchObject({ hash, missing: [] });
  expect(await rig.call("strange__read")).toMatchObject({ outcome: "ok" });
  expect((await rig.mcp.tools()).hash).toBe(hash);
  expect(callsIn(diary)).toEqual(["call die", "call read"]);
  expect(rig.said).toContain("strange: It ended with exit code 3.");
});

test("[P7] a stopped call reaches the server as a cancellation, and a missing result is unknown too", async () => {
  const diary = diaryFile();
  const rig = open({ strange: misbehavingServer("plain", diary) });
  await rig.mcp.tools();
  const stop = new AbortController();
  const hanging = rig.call("strange__hang", {}, { signal: stop.signal });
  await until(() => callsIn(diary).includes("call hang"));
  stop.abort();
  expect(await hanging).toMatchObject({ outcome: "unknown" });
  expect(await rig.call("strange__write")).toMatchObject({ outcome: "ok" });
  expect(readServerLog(diary)).toContain("notifications/cancelled");
  expect(await rig.call("strange__nonsense")).toMatchObject({ outcome: "unknown" });
});

test("a read-only hint skips approval only if the operator trusts it", async () => {
  const server = misbehavingServer("plain");
  const rig = open({ doubted: server, believed: { ...server, readOnlyHints: "believed" } });
  const kinds = await Promise.all(
    ["doubted__read", "doubted__write", "believed__read", "believed__write"].map(async (name) => {
      const tool = await rig.tool(name);
      return [tool.replay, tool.approval?.({})];
    }),
  );
  expect(kinds).toEqual([
    ["never", "ask"],
    ["never", "ask"],
    ["safe", "none"],
    ["never", "ask"],
  ]);
});

test("[safety] a tool that its server describes differently is another tool, and a restart changes nothing", async () => {
  const rig = open({ strange: misbehavingServer("turncoat"), same: misbehavingServer("turncoat") });
  const identity = async (name: string) => (await rig.tool(name)).identity;
  const before = await identity("strange__read");
  expect(before).toMatch(/^[0-9a-f]{32}$/);
  expect(await identity("same__read")).not.toBe(before);
  const again = open({ strange: misbehavingServer("turncoat") });
  expect((await again.tool("strange__read")).identity).toBe(before);
  await rig.call("strange__turn");
  await until(async () => (await identity("strange__read")) !== before);
});

test("[P9] servers in another order give the same tools, and a renamed tool is another offer", async () => {
  const [one, other] = [misbehavingServer("plain"), misbehavingServer("odd")];
  const [first, second] = [open({ one, other }), open({ other, one })];
  const before = await first.mcp.tools();
  expect((await second.mcp.tools()).hash).toBe(before.hash);
  expect([...(await second.mcp.tools()).tools.keys()]).toEqual([...before.tools.keys()]);
  expect(await first.call("one__rename")).toMatchObject({ outcome: "ok" });
  await until(async () => (await first.mcp.tools()).tools.has("one__renamed"));
  const after = await first.mcp.tools();
  expect(after.tools.has("one__rename")).toBe(false);
  expect(after.hash).not.toBe(before.hash);
});

test("unusable tools are left out and reported, and the others get names that every model accepts", async () => {
  const rig = open({ strange: misbehavingServer("odd") });
  const { tools } = await rig.mcp.tools();
  const names = [...tools.keys()];
  expect(names).toHaveLength(4);
  expect(names).toContain("strange__good");
  for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  expect(names.filter((name) => name.startsWith("strange__a_b_"))).toHaveLength(2);
  const { leftOut } = assertPresent(rig.mcp.states()[0]);
  expect(leftOut.map((line) => line.split(":")[0])).toEqual([
    "3 tools are not described as tools are.",
    '"deep"',
    '"elsewhere"',
    '"good"',
    '"large"',
    '"text"',
  ]);
});

test("an endless tool list, result or stderr is cut off", async () => {
  const rig = open({ huge: misbehavingServer("huge"), strange: misbehavingServer("plain") });
  const { tools } = await rig.mcp.tools();
  const huge = [...tools.values()].filter(({ name }) => name.startsWith("huge__"));
  expect(huge).toHaveLength(128);
  for (const { description } of huge) expect(description.length).toBeLessThan(4_200);
  expect(assertPresent(rig.mcp.states()[0]).leftOut).toHaveLength(21);
  const { output } = await rig.call("strange__much");
  expect(output.length).toBeLessThan(1024 * 1024 + 100);
  expect(output).toContain("characters are left out here");
});

test("garbage between messages is skipped", async () => {
  const rig = open({ strange: misbehavingServer("garbage") });
  expect(await rig.call("strange__read")).toMatchObject({ outcome: "ok" });
});

test.each([
  ["endless", "It wrote a message that is too long."],
  ["noise", "It writes what is no message."],
  ["bad-list", "Invalid result for tools/list"],
])("a server that speaks %s is dropped with the reason and retried", async (manner, why) => {
  const rig = open({ strange: misbehavingServer(manner) });
  expect(await rig.mcp.tools()).toMatchObject({ missing: [{ name: "strange" }] });
  await until(() => rig.said.filter((line) => line.endsWith(`I am ${manner}.`)).length > 1);
  await until(() => rig.mcp.states()[0]?.lastError !== null);
  const { tools, lastError } = assertPresent(rig.mcp.states()[0]);
  expect([tools, lastError]).toEqual([[], expect.stringContaining(why)]);
});

test("a missing program and an unset variable are reported as such", async () => {
  const rig = open({
    absent: { command: "/nowhere/at-all" },
    keyless: { command: "true", env: { KEY: { env: "NOT_SET_HERE" } } },
  });
  await rig.mcp.tools();
  expect(rig.mcp.states()).toMatchObject([
    { lastError: "/nowhere/at-all could not be started (ENOENT)." },
    { lastError: "KEY: The variable NOT_SET_HERE is not set." },
  ]);
});

test.each(["initialize", "tools/list"])(
  "a server that hangs at %s delays nobody: other tools are there, its own are missing",
  async (method) => {
    const diary = diaryFile();
    const mcp = openMcp({
      confinement: unconfined,
      servers: {
        hangs: misbehavingServer("hang", diary, method),
        works: misbehavingServer("plain"),
      },
      environment: process.env,
      store: { putBlob: () => Promise.reject(new Error("Nothing is put.")) },
      log: () => undefined,
      times: { firstMs: 1 },
    });
    onTestFinished(() => mcp.stop());
    mcp.start();
    await until(async () => (await mcp.tools()).tools.has("works__read"));
    await until(() => existsSync(diary) && readServerLog(diary).includes(method));
    const { missing } = await mcp.tools();
    expect(missing).toMatchObject([{ name: "hangs", why: "It has not answered yet." }]);
  },
);

function isThere(pid: string): boolean {
  try {
    return process.kill(Number(pid), 0);
  } catch {
    return false;
  }
}

/** The program's pid and those of its children. */
function pidsIn(diary: string): string[] {
  return assertPresent(readServerLog(diary).find((line) => line.startsWith("pids")))
    .split(" ")
    .slice(1);
}

test("a server that will not exit is killed with all its children before the host exits", async () => {
  const diary = diaryFile();
  const rig = openMcpRig({ strange: misbehavingServer("stubborn", diary) });
  await rig.mcp.tools();
  const pids = pidsIn(diary);
  expect(pids.map(isThere)).toEqual([true, true]);
  await rig.stop();
  expect(readServerLog(diary)).toContain("SIGTERM");
  await until(() => !pids.some(isThere));
});

test("a server that dies by itself leaves no children behind", async () => {
  const diary = diaryFile();
  const rig = open({ strange: misbehavingServer("parent", diary) });
  await rig.mcp.tools();
  const pids = pidsIn(diary);
  expect(pids.map(isThere)).toEqual([true, true]);
  await rig.call("strange__die");
  await until(() => !pids.some(isThere));
});

test("a host out of file descriptors reports it for the server and survives", () => {
  const module = new URL("./stdio-transport.ts", import.meta.url);
  const launch = `{ name: "true", launched: { argv: ["true"], environment: {}, folder: "/" }, onEnd: () => {} }`;
  const start = `({ StdioTransport }) => new StdioTransport(${launch}).start()`;
  expect(withoutFileHandles(module, start)).toBe("true could not be started (EMFILE).");
});
