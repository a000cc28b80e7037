import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { PassThrough } from "node:stream";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { serveHere } from "../../../test/support/command-rig.ts";
import { TerminalWindow } from "@holdfast/testing/host/terminal-window";
import { runCommandLine } from "../cli.ts";

/** One host for all tests. */
let served: Awaited<ReturnType<typeof serveHere>>;
const home = mkdtempSync(join(tmpdir(), "holdfast-lines-"));
beforeAll(async () => {
  served = await serveHere(home);
});
afterAll(async () => {
  await served.close();
  rmSync(home, { recursive: true, force: true });
});

/** A chat on a dumb terminal, which edits and echoes lines by itself. */
async function openChat(columns = 80) {
  const window = new TerminalWindow(columns);
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: () => expect.unreachable("a dumb terminal edits its own lines"),
  });
  const ended = runCommandLine(["chat", "--own-folder"], {
    environment: { ...served.settings, TERM: "dumb" },
    personFolder: home,
    input,
    output: window,
    print: (line) => void window.write(`${line}\n`),
    printError: (line) => void window.write(`${line}\n`),
  });
  onTestFinished(async ({ task }) => {
    if (task.result?.state === "fail") console.error(window.text());
    if (!input.writableEnded) input.end();
    await ended;
  });
  await window.showing(/›/);
  const type = (line: string): void => {
    window.write(`${line}\n`);
    input.write(`${line}\n`);
  };
  return { window, type, input, ended };
}

test("a dumb terminal gets whole rows and no control characters", async () => {
  const { window, type, input, ended } = await openChat(40);
  type("{words:60}");
  await window.showing(/› \{words:60\}\n\nA holdfast[\s\S]+\.\n›$/);
  type("/sessions");
  await window.showing(/\n› \w{6} {2}\d{4}-[^›]*\n›$/);
  input.end();
  expect(await ended).toBe(0);
  const text = window.text();
  expect(text).toMatch(/\n›\nTo continue here: holdfast chat --sessio\nn \w{6}\n$/);
  for (const rich of ["● live", "╭", "❯"]) expect(text).not.toContain(rich);
  // The terminal has echoed it once.
  expect(text.split("{words:60}")).toHaveLength(2);
  // oxlint-disable-next-line no-control-regex -- what a dumb terminal doesn't understand
  expect(window.raw).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/);
  expect(readFileSync(join(home, "chat-history.json"), "utf8")).toContain("{words:60}");
});

test("on a dumb terminal, calls and questions are answered by a line", async () => {
  const { window, type } = await openChat();
  type(String.raw`{tool:terminal {"command":["printf","\\033[2Jseen"]}}`);
  await window.showing(
    /Run this command\?[\s\S]+o allow once · s allow for this session[\s\S]+\no\/s\/a\/d ›$/,
  );
  type("maybe");
  await window.showing(/answer the question above[\s\S]+\no\/s\/a\/d ›$/);
  type("o");
  await window.showing(/— Allowed once[\s\S]+✓ ok[\s\S]+␛\[2Jseen[\s\S]+\n›$/);
  type('{tool:ask_user {"question":"Which colour?","choices":["red","blue"]}}');
  await window.showing(/\? Which colour\?\n {2}1\. red\n {2}2\. blue\nanswer ›$/);
  type("2");
  expect(await window.showing(/answered “blue”[\s\S]+\n›$/)).toContain("— blue");
});

test("on a dumb terminal, a line typed during an answer is handled at once", async () => {
  const { window, type, ended } = await openChat();
  type("{rate:40} {words:400}");
  await window.showing(/A holdfast/);
  type("/stop");
  await window.showing(/■ Stopped\.\n›$/);
  type("/quit");
  expect(await ended).toBe(0);
});

test("a Ctrl-D that arrives as a character ends the chat", async () => {
  const { input, ended } = await openChat();
  input.write("\u0004\n");
  expect(await ended).toBe(0);
});
