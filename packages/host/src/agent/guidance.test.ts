import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { afterEach, beforeEach, expect, test } from "vitest";

import { openPromptRuntime } from "../../test/support/agent/prompt-runtime.ts";
import {
  builtInGuidance,
  builtInPersonaText,
  builtInToolAdvice,
  earlierPersonaText,
} from "./guidance.ts";
import { openGuidanceStore } from "./instructions/guidance-store.ts";
import { estimateTokens } from "./models/token-counter.ts";
import { createWebSearchTool } from "./tools/web-search.ts";
import { createSystemPrompt } from "./system-prompt.ts";
import { openWorkspaceTrust } from "./workspace-trust.ts";
import { openWorkspaces } from "./workspace/workspaces.ts";

let folder: string;
let home: string;
let workspace: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-guidance-")));
  [home, workspace] = [join(folder, "home"), join(folder, "project")];
  mkdirSync(home);
  mkdirSync(workspace);
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string): void => writeFileSync(join(home, name), text);

async function aSession() {
  const store = createReferenceStore();
  const chat = await openTestSession(store, { workspace });
  return { store, whose: { owner: chat.owner, session: chat.session }, chat };
}

test("[P9] changed guidance and a better built-in text reach new sessions only", async () => {
  const { store, whose, chat } = await aSession();
  const { say, stop } = await openPromptRuntime(store, whose.owner, home);
  const guidance = openGuidanceStore(store.register);
  // As sessions of a version with another built-in persona have it in their frames.
  write("persona.md", `${earlierPersonaText}\n`);
  const first = await say(whose.session);
  expect(first).toContain(earlierPersonaText);
  expect(first).toContain(`[How to work on this host]\n${builtInGuidance}`);
  await guidance.write("guidance", { text: "- Whisper.\n\n[How to use the tools]", version: 0 });
  write("persona.md", `${builtInPersonaText}\n`);
  expect(await say(whose.session)).toBe(first);
  const later = await openTestSession(store, { workspace }, whose.owner);
  const fresh = await say(later.session);
  expect(fresh).toContain(
    "[How to work on this host]\n- Whisper.\n\n [How to use the tools]\n\n[How to use",
  );
  expect(fresh).toContain(builtInPersonaText);
  expect(fresh).not.toContain(builtInGuidance);
  await guidance.write("guidance", { text: "", version: 1 });
  const reset = await openTestSession(store, { workspace }, whose.owner);
  expect(await say(reset.session)).toContain(builtInGuidance);
  await stop();
  const framed = (await chat.events()).filter(({ type }) => type === "context.framed");
  expect(framed.map(({ data }) => data["cause"])).toEqual(["first"]);
});

test("the advice on tools names no tool that the agent lacks, and sessions that start alike share their prompt", async () => {
  const { store, whose } = await aSession();
  const { say, tools, stop } = await openPromptRuntime(store, whose.owner, home);
  const { owner } = whose;
  const [a, b] = [await openTestSession(store, {}, owner), await openTestSession(store, {}, owner)];
  const [first, second] = [await say(a.session), await say(b.session)];
  expect(first).toBe(second);
  expect(first).toContain("in a folder that the host keeps for this conversation");
  expect(first).toContain(builtInToolAdvice(tools));
  await stop();
  for (const missing of tools) {
    const rest = new Set([...tools].filter((name) => name !== missing));
    expect(builtInToolAdvice(rest)).not.toMatch(new RegExp(`\\b${missing}\\b`, "u"));
  }
  expect(builtInToolAdvice(new Set())).toBe("");
});

test("the built-in prompt and tools together take at most 4,500 tokens", async () => {
  const { store, whose } = await aSession();
  const { say, specs, stop } = await openPromptRuntime(store, whose.owner, home);
  const prompt = await say(whose.session);
  await stop();
  // It is there once a search provider is set up.
  const account = { provider: "brave", address: "https://api.search.brave.com" } as const;
  const search = async () => ({ ok: true, results: [] }) as const;
  const all = [...(await specs()), createWebSearchTool({ search }, account)];
  const listed = all.map(({ name, description, input }) => ({
    name,
    description,
    input,
  }));
  expect(listed.length).toBeGreaterThan(15);
  expect(estimateTokens(prompt) + estimateTokens(JSON.stringify(listed))).toBeLessThanOrEqual(
    4_500,
  );
});

test("a session in a person's folder is told its path, and whether it is a git repository", async () => {
  const { store, whose } = await aSession();
  const nothing = { text: async () => "", withdrawals: async () => 0 };
  const prompt = createSystemPrompt({
    home,
    workspaces: openWorkspaces({ home, roots: [folder] }, store),
    trust: openWorkspaceTrust(store.register),
    persona: async () => "You are a pilot.",
    instructions: nothing,
    project: async () => "",
    notes: nothing,
  });
  const tools = new Set(["read_file"]);
  expect(await prompt.text(whose, tools)).toMatch(`folder ${JSON.stringify(workspace)}.`);
  expect(await prompt.text(whose, tools)).not.toContain("git repository");
  mkdirSync(join(workspace, ".git"));
  expect(await prompt.text(whose, tools)).toContain("It is a git repository.");
});
