import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { strToU8, zipSync } from "fflate";
import { afterEach, beforeEach, expect, test } from "vitest";

import { createSkillInstaller } from "./install-skills.ts";
import { scanSkills } from "./scan-skills.ts";

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
  const installer = createSkillInstaller(home, { now });
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
