import { mkdtempSync, rmSync } from "node:fs";
import { PassThrough } from "node:stream";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@holdfast/client";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { TerminalWindow } from "@holdfast/testing/host/terminal-window";
import { runHere, serveHere } from "../../../test/support/command-rig.ts";
import { runCommandLine } from "../cli.ts";

/** One host for all tests. */
let served: Awaited<ReturnType<typeof serveHere>>;
const home = mkdtempSync(join(tmpdir(), "holdfast-run-"));
beforeAll(async () => {
  await import("./run-screen.ts");
  served = await serveHere(home);
});
afterAll(async () => {
  await served.close();
  rmSync(home, { recursive: true, force: true });
});

/** `holdfast run` in a window, against the real host. */
function startRun(prompt: string) {
  const window = new TerminalWindow();
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const ended = runCommandLine(["run", "--own-folder", prompt], {
    environment: { ...served.settings, NO_COLOR: "1" },
    personFolder: home,
    input,
    output: window,
    print: (line) => void window.write(`${line}\n`),
    printError: (line) => void window.write(`${line}\n`),
  });
  onTestFinished(async ({ task }) => {
    if (task.result?.state === "fail") console.error(window.text());
    input.end();
    await ended;
  });
  return { window, ended, type: (text: string) => void input.write(text) };
}

const call = '{tool:terminal {"command":["echo","done it"]}}';

test("a run on a terminal asks before a call, and goes on with the answer", async () => {
  const { window, ended, type } = startRun(call);
  await window.showing(/Run this command\?[\s\S]+echo[\s\S]+o {2}Allow once[\s\S]+↑↓ or a key/);
  // Enter alone chooses nothing.
  type("\ro");
  await window.showing(/❯ o {2}Allow once/);
  type("\r");
  expect(await ended).toBe(0);
  expect(window.text()).toMatch(/— Allowed once[\s\S]+✓ ok[\s\S]+answered “done it”/);
  expect(window.text()).not.toContain("↑↓");
});

test("a run on a terminal takes a typed answer to a question", async () => {
  const { window, ended, type } = startRun(
    '{tool:ask_user {"question":"Which colour?","choices":["red","blue"]}}',
  );
  await window.showing(/\? Which colour\?[\s\S]+2 {2}blue[\s\S]+answer ›/);
  type("green\r");
  expect(await ended).toBe(0);
  expect(window.text()).toContain("answered “green”");
});

test("Esc at a question of a run stops the run, and Ctrl-D leaves it waiting", async () => {
  const stopped = startRun(call);
  await stopped.window.showing(/↑↓ or a key/);
  stopped.type("\u001b");
  expect(await stopped.ended).toBe(3);
  const left = startRun(call);
  await left.window.showing(/↑↓ or a key/);
  left.type("\u0004");
  expect(await left.ended).toBe(6);
  expect(left.window.text()).toMatch(/Answer with holdfast chat --session \w{6}, on the page/);
});

test("a question of a run that is answered elsewhere is taken back", async () => {
  const { window, ended } = startRun(call);
  await window.showing(/↑↓ or a key/);
  const { HOLDFAST_URL: baseUrl, HOLDFAST_TOKEN: token } = served.settings;
  const client = createClient({ baseUrl, token });
  const listed = await client.listApprovals({ query: {} });
  const open = listed.ok ? listed.value.approvals : [];
  for (const { approvalId: id } of open)
    await client.answerApproval({ params: { id }, body: { decision: "once" } });
  expect(await ended).toBe(0);
  expect(window.text()).toContain("answered “done it”");
});

test("without a terminal, a run that needs an answer exits with 6 and says how to give one", async () => {
  const { code, told } = await runHere(["run", call], served.settings);
  expect(code).toBe(6);
  expect(told).toMatch(/Needs your approval:\nterminal: echo 'done it'\nAnswer with holdfast chat/);
});
