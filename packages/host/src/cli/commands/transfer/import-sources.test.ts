import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { runHere, serveHere } from "../../../../test/support/command-rig.ts";
import { everyKindOfMessage } from "../../../../test/support/exports/chatgpt.ts";
import { everyClaudeMessage } from "../../../../test/support/exports/claude.ts";
import { everyClaudeCodeLine } from "../../../../test/support/exports/claude-code.ts";
import { everyCodexLine } from "../../../../test/support/exports/codex.ts";
import { zipOf } from "../../../../test/support/exports/zip.ts";

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("each program's data is imported by its command, and a plain import names that command", async () => {
  const home = makeFolder();
  const host = await serveHere(home);
  onTestFinished(() => host.close());
  const files: Readonly<Record<string, string | Uint8Array>> = {
    "chatgpt.zip": zipOf({
      "conversations.json": JSON.stringify([everyKindOfMessage()]),
      "chat.html": "",
    }),
    "claude.json": JSON.stringify([everyClaudeMessage()]),
    ".claude/projects/boat/s1.jsonl": everyClaudeCodeLine("s1").text(),
    ".codex/sessions/2026/rollout-a.jsonl": everyCodexLine("a").text(),
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), content);
  }
  const run = async (...args: readonly string[]) => {
    const { code, said, told } = await runHere(["import", ...args], host.settings);
    return `${code} ${said} ${told}`;
  };
  const places = [
    ["chatgpt", "chatgpt.zip"],
    ["claude", "claude.json"],
    ["claude-code", ".claude/projects/boat/s1.jsonl"],
    ["codex", ".codex/sessions/2026"],
  ] as const;
  for (const [source, name] of places) {
    const path = join(home, name);
    expect(await run(path)).toMatch(/^2 /);
    expect(await run(path)).toContain(`import ${source} ${path}`);
  }
  const dry = await run("chatgpt", join(home, "chatgpt.zip"), "--dry-run");
  expect(dry).toMatch(/^0 [^]*nothing was written/);
  // Without a path, those that have a usual place are found there.
  for (const args of [
    ["chatgpt", join(home, "chatgpt.zip")],
    ["claude", join(home, "claude.json")],
    ["claude-code"],
    ["codex"],
  ]) {
    expect(await run(...args)).toMatch(/^0 [^]*Sessions: 1 taken/);
  }
  expect(await run("codex")).toMatch(/^0 [^]*Sessions: 1 known/);
  expect(await run("chatgpt")).toMatch(/^2 [^]*Give the export/);
  expect(await run("claude", join(home, "chatgpt.zip"))).toMatch(/^1 [^]*not an export of Claude/);
});
