import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Json } from "@holdfast/protocol";
import { ids } from "@holdfast/protocol";
import { openSession } from "@holdfast/engine/testing";
import { createMemoryStore } from "@holdfast/store";
import { afterEach, beforeEach, expect, test } from "vitest";

import { openTools } from "./index.ts";

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-terminal-")));
});
afterEach(() => rmSync(home, { recursive: true }));

async function openTerminal(settings: { workspace?: string } = {}) {
  const store = createMemoryStore();
  const { owner, session } = await openSession(store, settings);
  const tool = openTools({ home, store, environment: process.env }).get("terminal");
  if (tool === undefined) throw new Error("There is no terminal.");
  const written: string[] = [];
  const run = (input: Json, signal: AbortSignal = new AbortController().signal) => {
    const call = { owner, session, runId: ids.make("run"), callId: ids.make("call"), input };
    return tool.run(call, { signal, write: (text) => void written.push(text) });
  };
  return { tool, run, written };
}

test("every command asks first, a list as well as a line", async () => {
  const { tool } = await openTerminal();
  expect(tool.approval?.({ command: "ls" })).toBe("ask");
  expect(tool.approval?.({ command: ["ls"] })).toBe("ask");
  expect(tool.replay).toBe("never");
});

test("a line goes to a shell, a list does not, and both work in the home's workspace", async () => {
  const { run, written } = await openTerminal();
  expect(await run({ command: "echo $((1 + 2)) > sum; pwd" })).toEqual({
    outcome: "ok",
    output: `${home}/workspace\n`,
  });
  expect(written.join("")).toBe(`${home}/workspace\n`);
  expect(readFileSync(join(home, "workspace", "sum"), "utf8")).toBe("3\n");
  expect(await run({ command: ["echo", "$((1 + 2))"] })).toEqual({
    outcome: "ok",
    output: "$((1 + 2))\n",
  });
});

test("a session's own workspace is used, and one that is not there is an error that says so", async () => {
  const { run } = await openTerminal({ workspace: home });
  expect(await run({ command: ["pwd"] })).toEqual({ outcome: "ok", output: `${home}\n` });
  const elsewhere = await openTerminal({ workspace: "not-there" });
  await expect(elsewhere.run({ command: ["pwd"] })).rejects.toThrow(/not-there is not a folder/);
});

test.each<[Json, RegExp]>([
  [{ command: "echo half; exit 4" }, /^half\n\nIt ended with exit code 4\.$/],
  [{ command: ["no-such-program"] }, /no-such-program could not be started \(ENOENT\)/],
  [{ command: [] }, /Expected/],
  [{ command: "ls", also: 1 }, /Expected/],
  ["ls", /Expected/],
])("%j has failed, and the model is told how", async (input, words) => {
  const { run } = await openTerminal();
  const { outcome, output } = await run(input);
  expect(outcome).toBe("failed");
  expect(output).toMatch(words);
});

test("[P6] a cancel ends it", async () => {
  const { run } = await openTerminal();
  const cancel = new AbortController();
  const running = run({ command: ["sleep", "1000"] }, cancel.signal);
  cancel.abort();
  expect(await running).toMatchObject({ outcome: "cancelled" });
});
