import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";

import { unpackArchive } from "./unpack-archive.ts";
import { runCommand } from "../../sandbox/run-command.ts";
import { openTestConfinement, unconfined } from "../../../test/support/open-confinement.ts";
import { serveRepository } from "../../../test/support/git-server.ts";
import { cloneAndPack, packHostFolder, packRepository, packSkills } from "./pack-skills.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-pack-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, content: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}
const text = "---\nname: deploy\ndescription: Ships.\n---\nDo it.\n";

async function git(...args: string[]): Promise<void> {
  const end = await runCommand({
    argv: ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", ...args],
    folder: join(folder, "repository"),
    environment: { PATH: process.env["PATH"] ?? "", HOME: folder },
    timeLimitMs: 30_000,
    signal: new AbortController().signal,
  });
  if (end.kind !== "exited" || end.code !== 0) throw new Error(end.output);
}

async function filesOf(packed: Awaited<ReturnType<typeof packSkills>>) {
  if (!packed.ok) return packed.reason;
  const unpacked = await unpackArchive(packed.archive);
  return unpacked.ok ? [...unpacked.files.keys()].toSorted() : unpacked.reason;
}

test("of a folder only the skills are taken, and a folder that is one keeps its name", async () => {
  write("deploy/SKILL.md", text);
  write("deploy/hosts.md", "alpha");
  write("secret.txt", "secret");
  expect(await filesOf(await packSkills(folder))).toEqual(["deploy/SKILL.md", "deploy/hosts.md"]);
  expect(await filesOf(await packSkills(join(folder, "deploy")))).toEqual([
    "deploy/SKILL.md",
    "deploy/hosts.md",
  ]);
  expect(await filesOf(await packSkills(join(folder, "missing")))).toContain("neither a folder");
});

test.each([
  "http://example.com/x",
  "ssh://example.com/x",
  "ext::sh -c id",
  "file:///x",
  "--upload-pack=x",
])("%s is not fetched", async (source) => {
  expect(await filesOf(await packSkills(source))).toContain("the https address");
});

test("of a repository its newest files are taken: nothing of it is run, and a link leads nowhere", async () => {
  write("repository/skills/deploy/SKILL.md", text);
  symlinkSync("/etc/passwd", join(folder, "repository/skills/deploy/passwd"));
  write("repository/.gitattributes", "* filter=evil\n");
  await git("init", "--quiet");
  await git("add", ".");
  await git("commit", "--quiet", "-m", "One");
  write("ran.sh", `#!/bin/sh\ntouch ${join(folder, "ran")}\ncat\n`);
  chmodSync(join(folder, "ran.sh"), 0o755);
  write(
    ".gitconfig",
    `[filter "evil"]\nsmudge = ${join(folder, "ran.sh")}\n[core]\nhooksPath = ${folder}\n`,
  );
  write("post-checkout", `#!/bin/sh\ntouch ${join(folder, "ran")}\n`);
  chmodSync(join(folder, "post-checkout"), 0o755);
  const environment = { PATH: process.env["PATH"], HOME: folder };
  const address = `file://${join(folder, "repository")}`;
  const deps = { environment, confinement: unconfined, transport: "file", hosts: [] } as const;
  const packed = await cloneAndPack(address, deps);
  expect(await filesOf(packed)).toEqual(["skills/deploy/SKILL.md", "skills/deploy/passwd"]);
  const unpacked = packed.ok ? await unpackArchive(packed.archive) : null;
  const link = unpacked?.ok === true ? unpacked.files.get("skills/deploy/passwd") : undefined;
  expect(Buffer.from(link ?? []).toString()).toBe("/etc/passwd");
  expect(existsSync(join(folder, "ran"))).toBe(false);
});

test("a transport other than the one that is meant is refused, and git's reason is told", async () => {
  const environment = { PATH: process.env["PATH"] };
  const deps = { environment, confinement: unconfined, transport: "https", hosts: [] } as const;
  const packed = await cloneAndPack(`file://${folder}`, deps);
  expect(packed.ok ? "" : packed.reason).toContain("git could not clone the repository");
  expect(packed.ok ? "" : packed.reason).toContain("not allowed");
});

test.each(["https://user:secret@example.org/x", "http://example.org/x", "file:///x", "x"])(
  "%s is no address of a repository",
  async (address) => {
    const packed = await packRepository(address, { environment: {}, confinement: unconfined });
    expect(packed.ok ? "" : packed.reason).toContain("the https address of a git repository");
  },
);

test("a folder of the host has an absolute path, and a link to one is none", async () => {
  write("deploy/SKILL.md", text);
  expect(await filesOf(await packHostFolder(join(folder, "deploy")))).toEqual(["deploy/SKILL.md"]);
  expect(await filesOf(await packHostFolder("deploy"))).toContain("not an absolute path");
  symlinkSync(join(folder, "deploy"), join(folder, "link"));
  expect(await filesOf(await packHostFolder(join(folder, "link")))).toContain("not a folder");
});

test("[safety] a repository is cloned over https inside the sandbox, which reaches its host alone", async () => {
  write("repository/skills/deploy/SKILL.md", text);
  await git("init", "--quiet");
  await git("add", ".");
  await git("commit", "--quiet", "-m", "One");
  const served = await serveRepository(join(folder, "repository"));
  onTestFinished(served.close);
  const confinement = openTestConfinement({
    home: join(folder, "home"),
    mode: "required",
    egressAllow: [served.host],
  });
  const environment = { PATH: process.env["PATH"], GIT_SSL_CAINFO: served.authority };
  const packed = await packRepository(served.address, { environment, confinement });
  expect(await filesOf(packed)).toEqual(["skills/deploy/SKILL.md"]);
  expect(served.asked()).toContain("/repository/.git/git-upload-pack");
  // Without the operator's word a host of this machine is beyond the rules of outgoing requests.
  const closed = openTestConfinement({ home: join(folder, "home"), mode: "required" });
  const count = served.asked().length;
  const refused = await packRepository(served.address, { environment, confinement: closed });
  expect(refused.ok ? "" : refused.reason).toContain("could not clone");
  expect(served.asked()).toHaveLength(count);
});
