import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { strToU8, zipSync } from "fflate";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { unconfined } from "../../../test/support/open-confinement.ts";
import { createSkillInstaller } from "./install-skills.ts";
import { readSkillFolder, scanSkills } from "./scan-skills.ts";

const clone = { environment: {}, confinement: unconfined };
let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "holdfast-install-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const text = (name: string) =>
  strToU8(`---\nname: ${name}\ndescription: About ${name}.\n---\nDo it.\n`);
const installed = async () =>
  (await scanSkills(join(home, "skills"))).skills.map(({ name }) => name);
const quarantined = () => readdirSync(join(home, "skills/.quarantine"));

async function stage(files: Record<string, Uint8Array>, now = Date.now) {
  const installer = createSkillInstaller(home, clone, { now });
  const staged = await installer.stage(zipSync(files));
  if (staged.status !== "staged") throw new Error(staged.reason);
  const wanted = staged.skills.map(({ path, hash }) => ({ path, hash }));
  return { installer, staged, wanted };
}

test("skills wait in the quarantine, where no scan finds them, until they are installed whole", async () => {
  const { installer, staged, wanted } = await stage({
    "pack/deploy/SKILL.md": text("deploy"),
    "pack/deploy/hosts.md": strToU8("alpha"),
    "pack/audit/SKILL.md": text("audit"),
    "pack/broken/SKILL.md": strToU8("nothing"),
  });
  expect(staged.skills.map(({ name }) => name)).toEqual(["audit", "deploy"]);
  expect(staged.skipped.map(({ path }) => path)).toEqual(["pack/broken"]);
  expect(await installed()).toEqual([]);
  expect(await installer.install(staged.id, wanted)).toEqual({ status: "installed" });
  expect(await installed()).toEqual(["audit", "deploy"]);
  expect(readFileSync(join(home, "skills/deploy/hosts.md"), "utf8")).toBe("alpha");
  expect(quarantined()).toEqual([]);
  expect(await installer.install(staged.id, wanted)).toEqual({ status: "not_found" });
});

test("a skill whose name is taken is refused, nothing is replaced, and nothing of the rest is installed", async () => {
  const first = await stage({ "deploy/SKILL.md": text("deploy") });
  await first.installer.install(first.staged.id, first.wanted);
  const before = readFileSync(join(home, "skills/deploy/SKILL.md"), "utf8");
  const second = await stage({
    "audit/SKILL.md": text("audit"),
    "x/SKILL.md": text("deploy"),
  });
  expect(await second.installer.install(second.staged.id, second.wanted)).toEqual({
    status: "exists",
    name: "deploy",
  });
  expect(await installed()).toEqual(["deploy"]);
  expect(readFileSync(join(home, "skills/deploy/SKILL.md"), "utf8")).toBe(before);
});

test("of two skills with one name in an archive none is installed", async () => {
  const { installer, staged, wanted } = await stage({
    "a/SKILL.md": text("deploy"),
    "b/SKILL.md": text("deploy"),
  });
  expect(await installer.install(staged.id, wanted)).toEqual({ status: "exists", name: "deploy" });
  expect(await installed()).toEqual([]);
});

test("a skill inside of another is a part of it: wanted apart, neither is installed", async () => {
  const { installer, staged, wanted } = await stage({
    "deploy/SKILL.md": text("deploy"),
    "deploy/inner/SKILL.md": text("inner"),
  });
  expect(staged.skills.map(({ name }) => name)).toEqual(["deploy"]);
  const alone = await readSkillFolder(join(home, "skills/.quarantine", staged.id), "deploy/inner");
  if (!alone.ok) throw new Error(alone.reason);
  const inner = { path: "deploy/inner", hash: alone.skill.hash };
  expect(await installer.install(staged.id, [...wanted, inner])).toEqual({ status: "changed" });
  expect(await installed()).toEqual([]);
  expect(await installer.install(staged.id, wanted)).toEqual({ status: "installed" });
  expect(await installed()).toEqual(["deploy"]);
});

test("what changed in the quarantine after it was shown is not installed", async () => {
  const { installer, staged, wanted } = await stage({ "deploy/SKILL.md": text("deploy") });
  writeFileSync(join(home, "skills/.quarantine", staged.id, "deploy/run.sh"), "rm -rf /");
  expect(await installer.install(staged.id, wanted)).toEqual({ status: "changed" });
  expect(await installed()).toEqual([]);
});

test("what is discarded, refused, or left for an hour is deleted", async () => {
  const { installer, staged } = await stage({ "deploy/SKILL.md": text("deploy") });
  await installer.discard(staged.id);
  expect(quarantined()).toEqual([]);
  const none = await installer.stage(zipSync({ "README.md": strToU8("nothing") }));
  expect(none).toEqual({
    status: "refused",
    reason: "There is no SKILL.md in it. Add one to each skill's folder.",
  });
  expect(await installer.stage(zipSync({ a: strToU8("1"), "a/b": strToU8("2") }))).toMatchObject({
    status: "refused",
  });
  expect(quarantined()).toEqual([]);
  const left = await stage({ "deploy/SKILL.md": text("deploy") });
  const later = await stage({ "audit/SKILL.md": text("audit") }, () => Date.now() + 2 * 3_600_000);
  expect(quarantined()).toEqual([later.staged.id]);
  expect(existsSync(join(home, "skills/.quarantine", left.staged.id))).toBe(false);
});

test("an archive that is itself a skill is installed under the skill's name", async () => {
  const { installer, staged, wanted } = await stage({ "SKILL.md": text("deploy") });
  expect(staged.skills.map(({ path, warnings }) => [path, warnings])).toEqual([["", []]]);
  expect(await installer.install(staged.id, wanted)).toEqual({ status: "installed" });
  expect(await installed()).toEqual(["deploy"]);
});

describe("an installed skill", () => {
  async function installDeploy() {
    const first = await stage({
      "deploy/SKILL.md": text("deploy"),
      "deploy/old.md": strToU8("old"),
      "deploy/hosts.md": strToU8("alpha\nbeta\n"),
    });
    await first.installer.install(first.staged.id, first.wanted);
  }
  const fresh = {
    "SKILL.md": text("deploy"),
    "hosts.md": strToU8("alpha\ngamma\n"),
    "new.sh": strToU8("#!/bin/sh\n"),
  };

  test("is replaced by exactly what was compared with it, also by an archive that is itself the skill", async () => {
    await installDeploy();
    const { installer, staged, wanted } = await stage(fresh);
    const [skill] = staged.skills;
    expect(skill?.replaces?.changes).toEqual([
      { path: "hosts.md", kind: "changed", diff: "@@ -1,2 +1,2 @@\n alpha\n-beta\n+gamma" },
      { path: "new.sh", kind: "added", diff: "@@ -0,0 +1,1 @@\n+#!/bin/sh" },
      {
        path: "old.md",
        kind: "removed",
        diff: "@@ -1,1 +0,0 @@\n-old\n\\ No newline at end of file",
      },
    ]);
    expect(await installer.install(staged.id, wanted)).toMatchObject({ status: "exists" });
    const replaces = skill?.replaces?.hash;
    expect(
      await installer.install(
        staged.id,
        wanted.map((each) => ({ ...each, replaces })),
      ),
    ).toEqual({ status: "installed" });
    const [now] = (await scanSkills(join(home, "skills"))).skills;
    expect([now?.path, now?.hash]).toEqual(["deploy", skill?.hash]);
    expect(quarantined()).toEqual([]);
  });

  test("that has changed since it was compared is not replaced", async () => {
    await installDeploy();
    const { installer, staged, wanted } = await stage(fresh);
    writeFileSync(join(home, "skills/deploy/hosts.md"), "mine");
    const replaces = staged.skills[0]?.replaces?.hash;
    expect(
      await installer.install(
        staged.id,
        wanted.map((each) => ({ ...each, replaces })),
      ),
    ).toEqual({ status: "changed" });
    expect(readFileSync(join(home, "skills/deploy/hosts.md"), "utf8")).toBe("mine");
  });

  test("that a killed host had moved away is put back before anything else is done", async () => {
    await installDeploy();
    const aside = join(home, "skills/.quarantine/0123456789abcdef-replaced");
    mkdirSync(aside);
    renameSync(join(home, "skills/deploy"), join(aside, "deploy"));
    expect(await installed()).toEqual([]);
    const { staged } = await stage(fresh);
    expect(await installed()).toEqual(["deploy"]);
    expect(staged.skills[0]?.replaces).not.toBeNull();
    expect(existsSync(aside)).toBe(false);
  });
});
