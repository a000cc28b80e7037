import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { ToolCall } from "@holdfast/engine";
import { type Json, ids } from "@holdfast/protocol";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { SandboxMode } from "../../sandbox/confinement.ts";
import { openTestConfinement } from "../../../test/support/open-confinement.ts";
import { createBuiltInTools } from "../toolset.ts";
import { openWorkspaces } from "../workspace/workspaces.ts";

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-terminal-")));
});
afterEach(() => rmSync(home, { recursive: true }));

interface TerminalSettings {
  readonly workspace?: string;
  readonly trustedHosts?: readonly string[];
}

async function openTerminal(
  mode: SandboxMode = "off",
  { trustedHosts = [], ...settings }: TerminalSettings = {},
) {
  const store = createReferenceStore();
  const { owner, session } = await openTestSession(store, settings);
  const workspaces = openWorkspaces({ home, roots: [home] }, store);
  const confinement = openTestConfinement({ home, mode });
  const deps = { home, store, workspaces, egressAllow: [], environment: process.env, confinement };
  const tool = createBuiltInTools({ ...deps, trustedHosts }).get("terminal");
  if (tool === undefined) throw new Error("There is no terminal.");
  const written: string[] = [];
  const run = (
    input: Json,
    signal: AbortSignal = new AbortController().signal,
    bound: Pick<ToolCall, "confined"> = {},
  ) => {
    const ofRun = { owner, session, runId: ids.make("run"), callId: ids.make("call") };
    const call = { ...ofRun, input, ...bound };
    return tool.run(call, { signal, write: (text) => void written.push(text) });
  };
  return { tool, run, written, folder: join(home, "workspaces", session) };
}

test("[safety] every command requires approval, a list as well as a line", async () => {
  const { tool } = await openTerminal();
  expect(tool.approval?.({ command: "ls" })).toBe("ask");
  expect(tool.approval?.({ command: ["ls"] })).toBe("ask");
  expect(tool.replay).toBe("never");
});

test("[safety] what a command prints counts as a stranger's text if it was granted hosts", async () => {
  const { tool } = await openTerminal();
  const hosts = ["evil.example", "*.example.org"];
  expect(tool.taint?.({ command: "curl https://evil.example", hosts })).toEqual([
    { kind: "web", name: "evil.example" },
    { kind: "web", name: "*.example.org" },
  ]);
  expect(tool.taint?.({ command: "ls" })).toEqual([]);
  const { tool: trusting } = await openTerminal("off", { trustedHosts: ["*.example.org"] });
  expect(trusting.taint?.({ command: "curl https://evil.example", hosts })).toEqual([
    { kind: "web", name: "evil.example" },
  ]);
});

test.each(["https://a.example", "a.example:80", "*", "a b", ""])(
  "[safety] a command that is to reach %j, which is no host, does not run",
  async (host) => {
    const { run, folder } = await openTerminal();
    const result = await run({ command: "echo x > ran", hosts: [host] });
    expect(result).toMatchObject({ outcome: "failed" });
    expect(result.output).toContain("Not the name of a host");
    expect(() => readFileSync(join(folder, "ran"))).toThrow("ENOENT");
  },
);

test("[safety] a command that was allowed for its sandbox's sake does not run without one", async () => {
  const { run, folder } = await openTerminal("off");
  const { signal } = new AbortController();
  expect(await run({ command: "echo x > ran" }, signal, { confined: true })).toMatchObject({
    outcome: "failed",
    details: { refusal: "sandbox_required" },
  });
  expect(() => readFileSync(join(folder, "ran"))).toThrow("ENOENT");
  const { run: runConfined } = await openTerminal("required");
  expect(await runConfined({ command: "echo in" }, signal, { confined: true })).toMatchObject({
    outcome: "ok",
  });
});

test("a line runs in a shell, a list does not, and both run in the session's folder", async () => {
  const { run, written, folder } = await openTerminal();
  expect(await run({ command: "echo $((1 + 2)) > sum; pwd" })).toEqual({
    outcome: "ok",
    output: `${folder}\n`,
  });
  expect(written.join("")).toBe(`${folder}\n`);
  expect(readFileSync(join(folder, "sum"), "utf8")).toBe("3\n");
  expect(await run({ command: ["echo", "$((1 + 2))"] })).toEqual({
    outcome: "ok",
    output: "$((1 + 2))\n",
  });
});

test("a folder inside the workspace can be named, and none outside", async () => {
  const { run, folder } = await openTerminal();
  await run({ command: ["mkdir", "-p", "a/b"] });
  expect(await run({ command: ["pwd"], folder: "a/b" })).toMatchObject({
    output: `${folder}/a/b\n`,
  });
  for (const outside of ["..", "/etc", "a/../..", "nowhere"])
    expect(await run({ command: ["pwd"], folder: outside })).toMatchObject({ outcome: "failed" });
});

test.each<[Json, RegExp]>([
  [{ command: "echo half; exit 4" }, /^half\n\nIt ended with exit code 4\.$/],
  [{ command: ["no-such-program"] }, /no-such-program could not be started \(ENOENT\)/],
  [{ command: [] }, /do not fit/],
  [{ command: "ls", also: 1 }, /do not fit/],
  [{ command: ["a\0b"] }, /do not fit/],
  [{ command: "ls", seconds: 0.5 }, /do not fit/],
  [{ command: "sleep 100", seconds: 1 }, /took too long/],
  ["ls", /do not fit/],
])("%j fails, and the model is told how", async (input, pattern) => {
  const { run } = await openTerminal();
  const { outcome, output } = await run(input);
  expect(outcome).toBe("failed");
  expect(output).toMatch(pattern);
});

test("[P6] a cancel ends it", async () => {
  const { run } = await openTerminal();
  const cancel = new AbortController();
  const running = run({ command: ["sleep", "1000"] }, cancel.signal);
  cancel.abort();
  expect(await running).toMatchObject({ outcome: "cancelled" });
});
