import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { readFileOfSkill, readSkillFolder, scanSkills } from "./scan-skills.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-skills-")));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const skill = (name: string, body = "Do it.") =>
  `---\nname: ${name}\ndescription: About ${name}.\n---\n${body}\n`;

const names = async () => (await scanSkills(folder)).skills.map(({ name }) => name);

describe("a scan", () => {
  test("finds skills in the order of their paths, also in folders that group them", async () => {
    write("zebra/SKILL.md", skill("zebra"));
    write("animals/heron/SKILL.md", skill("heron"));
    write("animals/heron/nested/SKILL.md", skill("inner"));
    write(".hidden/SKILL.md", skill("hidden"));
    write("node_modules/x/SKILL.md", skill("x"));
    write("notes/README.md", "Nothing.");
    expect(await names()).toEqual(["heron", "zebra"]);
  });

  test("leaves a broken skill out with its reason, and keeps the others", async () => {
    write("broken/SKILL.md", "No front matter.");
    write("deploy/SKILL.md", skill("deploy"));
    const { skills, skipped } = await scanSkills(folder);
    expect(skills.map(({ name }) => name)).toEqual(["deploy"]);
    expect(skipped.map(({ path }) => path)).toEqual(["broken"]);
    expect(skipped[0]?.reason).toContain("must begin with front matter");
  });

  test("follows no link: not to a skill, not to its text, and not to a file of it", async () => {
    const outside = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-outside-")));
    writeFileSync(join(outside, "SKILL.md"), skill("outside"));
    try {
      symlinkSync(outside, join(folder, "linked"));
      mkdirSync(join(folder, "text"));
      symlinkSync(join(outside, "SKILL.md"), join(folder, "text/SKILL.md"));
      write("file/SKILL.md", skill("file"));
      symlinkSync("/etc/passwd", join(folder, "file/passwd"));
      const { skills, skipped } = await scanSkills(folder);
      expect(skills).toEqual([]);
      expect(skipped.map(({ path }) => path)).toEqual(["file", "linked", "text"]);
      for (const { reason } of skipped) expect(reason).toContain("is a link");
    } finally {
      rmSync(outside, { recursive: true });
    }
  });

  test("a folder that is itself a link out of the workspace is named and not read", async () => {
    const outside = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-outside-")));
    try {
      mkdirSync(join(outside, "skills/deploy"), { recursive: true });
      writeFileSync(join(outside, "skills/deploy/SKILL.md"), skill("deploy"));
      symlinkSync(outside, join(folder, ".claude"));
      const { skills, skipped } = await scanSkills(folder, ".claude/skills");
      expect(skills).toEqual([]);
      expect(skipped[0]?.reason).toContain("leads out of the workspace");
    } finally {
      rmSync(outside, { recursive: true });
    }
  });

  test("a skill with 10,000 files is left out and says why", async () => {
    write("many/SKILL.md", skill("many"));
    write("deploy/SKILL.md", skill("deploy"));
    write("seed", "");
    for (let index = 0; index < 10_000; index += 1)
      linkSync(join(folder, "seed"), join(folder, `many/${index}`));
    const { skills, skipped } = await scanSkills(folder);
    expect(skills.map(({ name }) => name)).toEqual(["deploy"]);
    expect(skipped).toEqual([
      { path: "many", reason: "It has more than 1000 files. Remove some." },
    ]);
  });

  test("ends after 2,000 folders and says so", async () => {
    for (let index = 0; index < 2_100; index += 1) mkdirSync(join(folder, `folder-${index}`));
    write("zebra/SKILL.md", skill("zebra"));
    const { skills, skipped } = await scanSkills(folder);
    expect(skills).toEqual([]);
    expect(skipped[0]?.reason).toContain("2000 folders");
  });

  test("of a folder that is missing finds nothing", async () => {
    expect(await scanSkills(join(folder, "missing"))).toEqual({ skills: [], skipped: [] });
    expect(await scanSkills(folder, ".claude/skills")).toEqual({ skills: [], skipped: [] });
  });
});

describe("a skill's hash", () => {
  const hashOf = async () => {
    const read = await readSkillFolder(folder, "deploy");
    return read.ok ? read.skill.hash : read.reason;
  };

  test("covers the name and the content of every file", async () => {
    write("deploy/SKILL.md", skill("deploy"));
    write("deploy/scripts/run.sh", "echo 1");
    const first = await hashOf();
    expect(await hashOf()).toBe(first);
    write("deploy/scripts/run.sh", "echo 2");
    const second = await hashOf();
    write("deploy/scripts/run.sh", "echo 1");
    write("deploy/.hidden", "");
    const third = await hashOf();
    expect(new Set([first, second, third]).size).toBe(3);
  });
});

test("a file of a skill is read as it was scanned, and nothing else", async () => {
  write("deploy/SKILL.md", skill("deploy"));
  write("deploy/references/hosts.md", "alpha");
  write("deploy/logo.png", "\u0000");
  write("secret", "secret");
  const read = await readSkillFolder(folder, "deploy");
  if (!read.ok) throw new Error(read.reason);
  expect(await readFileOfSkill(read.skill, "references/hosts.md")).toBe("alpha");
  for (const path of ["../secret", "/etc/passwd", "missing", "references", "logo.png"])
    expect(await readFileOfSkill(read.skill, path)).toBeNull();
  write("deploy/references/hosts.md", "beta!");
  expect(await readFileOfSkill(read.skill, "references/hosts.md")).toBeNull();
});
