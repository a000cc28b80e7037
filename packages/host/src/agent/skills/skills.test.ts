import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import type { Store } from "@holdfast/engine";
import { ids } from "@holdfast/protocol";
import { anEvent, aRunId } from "@holdfast/testing/fixtures/factories";
import { openTestSession, TestSession } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { openWorkspaces } from "../workspace/workspaces.ts";
import { skillContent, skillsBlock } from "./skill-catalogue.ts";
import { unconfined } from "../../../test/support/open-confinement.ts";
import { skillsOfMessages } from "./skill-message.ts";
import { createSkillTool } from "./skill-tool.ts";
import { openSkills } from "./skills.ts";

const { signal } = new AbortController();

let folder: string;
let store: Store;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-skills-")));
  store = createReferenceStore();
  mkdirSync(join(folder, ".holdfast"));
  mkdirSync(join(folder, "project"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, name: string, body = "Do it."): void {
  const file = join(folder, path, "SKILL.md");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `---\nname: ${name}\ndescription: About ${name}.\n---\n${body}\n`);
}

const inWorkspace = ".claude/skills/deploy";

async function open({ mayUse = true } = {}) {
  const home = join(folder, ".holdfast");
  const workspaces = openWorkspaces({ home, roots: [folder] }, store);
  const { owner, session } = await openTestSession(store, { workspace: join(folder, "project") });
  const skills = openSkills({
    home,
    operator: owner,
    register: store.register,
    workspaces,
    clone: { environment: {}, confinement: unconfined },
    mayUse: async () => mayUse,
  });
  const whose = { owner, session };
  const bodies = async () => (await skills.available(whose)).map(({ body }) => body);
  async function decide(decision: "trusted" | "refused", path = inWorkspace) {
    const listed = await skills.listWorkspace(whose);
    const hash = listed?.skills.find((skill) => skill.path === path)?.hash ?? "";
    return skills.decide(whose, { path, hash, decision });
  }
  return { skills, whose, bodies, decide };
}

describe("a workspace's skill", () => {
  test("is not available before a person trusts it, and not when they refuse it", async () => {
    write(`project/${inWorkspace}`, "deploy");
    const { skills, whose, bodies, decide } = await open();
    expect(await bodies()).toEqual([]);
    expect([await skills.signature(whose), await skills.text(whose)]).toEqual(["", ""]);
    expect(await decide("refused")).toBe("kept");
    expect(await bodies()).toEqual([]);
    expect(await decide("trusted")).toBe("kept");
    expect(await bodies()).toEqual(["Do it."]);
    expect(await skills.text(whose)).toContain("- deploy: About deploy.");
  });

  test("that changed is not available until that content is trusted too, and says so", async () => {
    write(`project/${inWorkspace}`, "deploy");
    const { skills, whose, bodies, decide } = await open();
    await decide("trusted");
    const signature = await skills.signature(whose);
    writeFileSync(join(folder, `project/${inWorkspace}/run.sh`), "rm -rf /");
    expect(await bodies()).toEqual([]);
    const found = await skills.find(whose, "deploy");
    expect(found.status === "refused" && found.reason).toContain("nobody has trusted what it says");
    // A session keeps the catalogue that it began with until a person decides.
    expect(await skills.signature(whose)).toBe(signature);
    await decide("trusted");
    expect(await bodies()).toEqual(["Do it."]);
    expect(await skills.signature(whose)).not.toBe(signature);
  });

  test("is trusted as the person saw it, and by nobody else's decision", async () => {
    write(`project/${inWorkspace}`, "deploy");
    const { skills, whose } = await open();
    const decision = "trusted" as const;
    const word = { path: inWorkspace, hash: "a".repeat(64), decision };
    expect(await skills.decide(whose, word)).toBe("changed");
    expect(await skills.decide(whose, { ...word, path: "../other" })).toBe("not_found");
    const stranger = await open();
    await stranger.decide("trusted");
    expect(await stranger.bodies()).toEqual(["Do it."]);
    expect(await skills.available(whose)).toEqual([]);
  });

  test("that is trusted comes before the person's own, and one that is not does not", async () => {
    write(".holdfast/skills/deploy", "deploy", "Mine.");
    write(".agents/skills/deploy", "deploy", "Shared.");
    write(`project/${inWorkspace}`, "deploy", "Theirs.");
    const { skills, whose, bodies, decide } = await open();
    expect(await bodies()).toEqual(["Mine."]);
    const own = (await skills.listOwn(whose.owner)).skills;
    expect(own.map(({ source, shadowedBy }) => [source, shadowedBy])).toEqual([
      ["home", null],
      ["agents", join(folder, ".holdfast/skills/deploy")],
    ]);
    await decide("trusted");
    expect(await bodies()).toEqual(["Theirs."]);
    const found = await skills.find(whose, "deploy");
    expect(found).toMatchObject({ mark: { name: "deploy", source: ".claude/skills" } });
  });

  test("comes from the first of the workspace's folders, whatever the others are called", async () => {
    for (const place of [".agents", ".holdfast", ".claude"])
      write(`project/${place}/skills/deploy`, "deploy", `From ${place}.`);
    const { bodies, decide } = await open();
    for (const place of [".claude", ".agents", ".holdfast"]) {
      await decide("trusted", `${place}/skills/deploy`);
      expect(await bodies()).toEqual([`From ${place}.`]);
    }
  });
});

test("a skill that is switched off is listed and not available", async () => {
  write(".holdfast/skills/deploy", "deploy");
  const { skills, whose, bodies } = await open();
  expect(await skills.switch(whose.owner, "deploy", "off")).toBe("kept");
  expect(await bodies()).toEqual([]);
  expect((await skills.listOwn(whose.owner)).skills).toMatchObject([{ state: "off" }]);
  expect(await skills.switch(whose.owner, "deploy", "on")).toBe("kept");
  expect(await bodies()).toEqual(["Do it."]);
  expect(await skills.switch(whose.owner, "missing", "off")).toBe("not_found");
});

test("a skill that is edited or removed is noticed at once", async () => {
  write(".holdfast/skills/deploy", "deploy");
  const { skills, whose, bodies } = await open();
  const first = await skills.signature(whose);
  write(".holdfast/skills/deploy", "deploy", "Do that");
  expect(await bodies()).toEqual(["Do that"]);
  expect(await skills.signature(whose)).not.toBe(first);
  rmSync(join(folder, ".holdfast/skills/deploy"), { recursive: true });
  expect(await skills.signature(whose)).toBe("");
});

test("a session without access to memory has no skills", async () => {
  write(".holdfast/skills/deploy", "deploy");
  write(`project/${inWorkspace}`, "deploy");
  const { skills, whose, decide } = await open({ mayUse: false });
  await decide("trusted");
  expect(await skills.available(whose)).toEqual([]);
  expect([await skills.signature(whose), await skills.text(whose)]).toEqual(["", ""]);
  expect(await skills.find(whose, "deploy")).toMatchObject({ status: "refused" });
});

describe("an activation", () => {
  test("is the text once, then a word that it is active, and a new text once it has changed", async () => {
    write(".holdfast/skills/deploy", "deploy", "Knock first.");
    const { skills, whose } = await open();
    const tool = createSkillTool({ skills, reads: store.reads });
    const chat = new TestSession(store, whose);
    const activate = async () => {
      const runId = aRunId();
      const asked = { ...whose, runId, callId: ids.make("call"), input: { name: "deploy" } };
      const result = await tool.run(asked, { signal, write: () => {} });
      const { outcome, output, skill } = result;
      const named = { callId: asked.callId, name: tool.name };
      const part = { type: "tool_result" as const, ...named, outcome, output };
      const messageId = ids.make("message");
      const parts = [{ ...part, ...(skill && { skill }) }];
      await chat.commit([anEvent("message.tool", { messageId, parts }, runId)]);
      return output;
    };
    expect(await activate()).toContain("Knock first.");
    expect(await activate()).toBe(
      "The skill deploy is active already. Its instructions are above and have not changed.",
    );
    write(".holdfast/skills/deploy", "deploy", "Knock twice.");
    expect(await activate()).toContain("Knock twice.");
  });

  test("a long file of a skill is cut, and one that it does not have is refused", async () => {
    write(".holdfast/skills/deploy", "deploy");
    const text = "x".repeat(48_001);
    writeFileSync(join(folder, ".holdfast/skills/deploy/long.md"), text);
    const { skills, whose } = await open();
    const tool = createSkillTool({ skills, reads: store.reads });
    const read = (file: string) =>
      tool.run(
        { ...whose, runId: aRunId(), callId: ids.make("call"), input: { name: "deploy", file } },
        { signal, write: () => {} },
      );
    expect((await read("long.md")).output).toBe(
      `${text.slice(0, 48_000)}\n[The file has 48001 characters; the rest is left out.]`,
    );
    expect(await read("../SKILL.md")).toMatchObject({ outcome: "failed" });
  });

  test("a message that may not use memory activates none by its name", async () => {
    write(".holdfast/skills/deploy", "deploy");
    const { skills, whose } = await open();
    const recall = skillsOfMessages(skills, store.reads);
    const said = { ...whose, text: "/deploy now" };
    expect(await recall(said)).toMatchObject([{ source: "skill", skill: { name: "deploy" } }]);
    expect(await recall({ ...said, memory: "none" })).toEqual([]);
  });
});

describe("the catalogue", () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      name: `skill-${index}`,
      description: `About ${index}. ${"word ".repeat(100)}`,
    }));

  test("cuts descriptions when they take too much room, and names what does not fit", () => {
    const block = skillsBlock(many(100));
    expect(block.length).toBeLessThan(14_000);
    for (const { name } of many(100)) expect(block).toMatch(new RegExp(`${name}\\b`, "u"));
    expect(block).toContain("There is no room for the descriptions of: ");
    expect(skillsBlock(many(2))).toContain(many(2)[1]?.description);
    expect(skillsBlock([])).toBe("");
  });
});

test("instructions come with the names of the files, without the front matter", async () => {
  write(".holdfast/skills/deploy", "deploy", "Read hosts.md.");
  writeFileSync(join(folder, ".holdfast/skills/deploy/hosts.md"), "alpha");
  const { skills, whose } = await open();
  const [skill] = await skills.available(whose);
  expect(skill && skillContent(skill)).toBe(
    [
      '<skill_content name="deploy">',
      "Read hosts.md.",
      "",
      '[files of this skill. Read one with activate_skill and {"name":"deploy","file":"…"}:]',
      "- hosts.md (5 bytes)",
      "</skill_content>",
    ].join("\n"),
  );
});
