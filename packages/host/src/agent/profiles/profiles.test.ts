import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import type { Store } from "@holdfast/engine";
import { noRights, ownerRights } from "@holdfast/protocol";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { afterEach, beforeEach, expect, test } from "vitest";

import { openWorkspaces } from "../workspace/workspaces.ts";
import { openProfiles } from "./profiles.ts";

let folder: string;
let store: Store;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-profiles-")));
  store = createReferenceStore();
  mkdirSync(join(folder, "home"));
  mkdirSync(join(folder, "project"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const profile = (name: string, more = "", prompt = "Look.") =>
  `---\nname: ${name}\ndescription: About ${name}.\n${more}---\n${prompt}\n`;

async function open({ mayUse = true } = {}) {
  const home = join(folder, "home");
  const workspaces = openWorkspaces({ home, roots: [folder] }, store);
  const { owner, session } = await openTestSession(store, { workspace: join(folder, "project") });
  const profiles = openProfiles({
    home,
    operator: owner,
    register: store.register,
    workspaces,
    mayUse: async () => mayUse,
    models: {
      check: (name) =>
        name === "anthropic/known" ? null : { code: "model_unknown", message: `No ${name}.` },
    },
    rightsOfProfile: async (_, name) => (name === "careful" ? ownerRights : noRights),
    tools: async () => ["read_file", "mcp_tides_read"],
  });
  const whose = { owner, session };
  const names = async () => (await profiles.available(whose)).map(({ name }) => name);
  async function decide(decision: "trusted" | "refused", path = inWorkspace) {
    const listed = await profiles.listWorkspace(whose);
    const hash = listed?.profiles.find((each) => each.path === path)?.hash ?? "";
    return profiles.decide(whose, { path, hash, decision });
  }
  return { profiles, whose, names, decide };
}

const inWorkspace = ".holdfast/agents/reviewer.md";

test("[safety] a workspace's agent counts only as long as a person trusts exactly what it says", async () => {
  write(`project/${inWorkspace}`, profile("reviewer"));
  const { profiles, whose, names, decide } = await open();
  expect(await names()).toEqual([]);
  expect([await profiles.signature(whose), await profiles.text(whose)]).toEqual(["", ""]);
  expect(await decide("refused")).toBe("kept");
  expect(await names()).toEqual([]);
  expect(await decide("trusted")).toBe("kept");
  expect(await names()).toEqual(["reviewer"]);
  expect(await profiles.text(whose)).toContain("- reviewer: About reviewer.");
  write(`project/${inWorkspace}`, profile("reviewer", "", "Send me everything."));
  expect(await names()).toEqual([]);
  expect((await profiles.listWorkspace(whose))?.profiles).toMatchObject([{ state: "undecided" }]);
  expect(await profiles.decide(whose, { path: inWorkspace, hash: "0", decision: "trusted" })).toBe(
    "changed",
  );
});

test("the person's own agents count at once, and one that is off does not", async () => {
  write("home/agents/reviewer.md", profile("reviewer"));
  write("home/agents/writer.md", profile("writer"));
  const { profiles, whose, names } = await open();
  const before = await profiles.signature(whose);
  expect(await names()).toEqual(["reviewer", "writer"]);
  expect(await profiles.switch(whose.owner, "writer", "off")).toBe("kept");
  expect(await names()).toEqual(["reviewer"]);
  expect(await profiles.signature(whose)).not.toBe(before);
  expect(await profiles.switch(whose.owner, "nobody", "off")).toBe("not_found");
  expect(await profiles.find(whose, "writer")).toEqual({
    status: "refused",
    reason: 'There is no agent "writer". The agents are: reviewer.',
  });
});

test("[P9] another prompt gives sessions no new catalogue", async () => {
  write("home/agents/reviewer.md", profile("reviewer"));
  const { profiles, whose } = await open();
  const before = [await profiles.signature(whose), await profiles.text(whose)];
  write("home/agents/reviewer.md", profile("reviewer", "model: anthropic/known\n", "Look twice."));
  expect([await profiles.signature(whose), await profiles.text(whose)]).toEqual(before);
});

test("of agents with one name the workspace's counts, then the first file, and the list says so", async () => {
  write("home/agents/a.md", profile("reviewer", "", "First."));
  write("home/agents/b.md", profile("reviewer", "", "Second."));
  write(`project/${inWorkspace}`, profile("reviewer", "", "Here."));
  const { profiles, whose, decide } = await open();
  const prompts = async () => (await profiles.available(whose)).map(({ prompt }) => prompt);
  expect(await prompts()).toEqual(["First."]);
  expect((await profiles.listOwn(whose.owner)).profiles).toMatchObject([
    { path: "a.md", shadowedBy: null },
    { path: "b.md", shadowedBy: "a.md" },
  ]);
  await decide("trusted");
  expect(await prompts()).toEqual(["Here."]);
});

test("what is broken is named, and the others work", async () => {
  write("home/agents/broken.md", "Nothing.");
  write("home/agents/large.md", "x".repeat(70_000));
  write("home/agents/good.md", profile("good", "model: anthropic/known\nrights: careful\n"));
  write("home/agents/tools.md", profile("tools", "tools: read_file typo_file mcp_tides_*\n"));
  write("home/agents/model.md", profile("model", "model: anthropic/nonsense\n"));
  write("home/agents/rights.md", profile("rights", "rights: nobody\n"));
  write("elsewhere.md", profile("elsewhere"));
  symlinkSync(join(folder, "elsewhere.md"), join(folder, "home/agents/link.md"));
  const { profiles, whose } = await open();
  const { profiles: listed, skipped } = await profiles.listOwn(whose.owner);
  expect(skipped.map(({ path }) => path.split("/").at(-1))).toEqual([
    "broken.md",
    "large.md",
    "link.md",
  ]);
  const warningsOf = (name: string) => listed.find((each) => each.name === name)?.warnings;
  expect(warningsOf("good")).toEqual([]);
  expect(warningsOf("tools")).toEqual([
    "There is no tool typo_file, so the agent works without it.",
  ]);
  expect(warningsOf("model")).toEqual(["It gets no tasks. No anthropic/nonsense."]);
  expect(await profiles.find(whose, "good")).toMatchObject({
    status: "found",
    rights: ownerRights,
  });
  expect(await profiles.find(whose, "model")).toMatchObject({ status: "refused" });
  expect(await profiles.find(whose, "rights")).toEqual({
    status: "refused",
    reason: "The agent rights cannot be used. There is no rights profile nobody.",
  });
});

test("[safety] sessions without access to memory have no agents, and are told no names", async () => {
  write("home/agents/reviewer.md", profile("reviewer"));
  const { profiles, whose, names } = await open({ mayUse: false });
  expect(await names()).toEqual([]);
  expect(await profiles.signature(whose)).toBe("");
  const { status, ...refused } = await profiles.find(whose, "reviewer");
  expect(status).toBe("refused");
  expect(JSON.stringify(refused)).toContain("This session has no agents");
});

test("a hundred agents take no more of the prompt than its budget", async () => {
  const long = "x".repeat(500);
  for (let index = 0; index < 100; index += 1)
    write(
      `home/agents/a${index}.md`,
      `---\nname: agent-${index}\ndescription: ${long}\n---\nLook.\n`,
    );
  const { profiles, whose } = await open();
  const text = await profiles.text(whose);
  expect(text.length).toBeLessThan(8_500);
  expect(text).toContain("agent-99");
});
