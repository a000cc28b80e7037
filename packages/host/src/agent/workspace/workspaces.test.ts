import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { openWorkspaces } from "./workspaces.ts";

test("[safety] no named workspace contains the home with its token and keys or is inside it, by whatever name", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-workspace-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const home = join(folder, "person", ".holdfast");
  mkdirSync(join(home, "memory"), { recursive: true });
  mkdirSync(join(home, "workspaces", "ses_of_somebody"), { recursive: true });
  mkdirSync(join(folder, "person", "project"));
  symlinkSync(home, join(folder, "person", "link"));
  const store = createReferenceStore();
  const workspaces = openWorkspaces({ home, roots: [folder] }, store);
  for (const named of [
    "",
    "person",
    "person/.holdfast",
    "person/link",
    "person/.holdfast/memory",
    "person/link/workspaces/ses_of_somebody",
  ]) {
    const { owner, session } = await openTestSession(store, { workspace: join(folder, named) });
    expect(await workspaces.refusal(owner, join(folder, named))).toContain("home of Holdfast");
    await expect(workspaces.folderFor({ owner, session })).rejects.toThrow("home of Holdfast");
    expect(await workspaces.locate({ owner, session })).toBe(join(home, "workspaces", session));
  }
  const project = join(folder, "person", "project");
  const { owner, session } = await openTestSession(store, { workspace: project });
  expect(await workspaces.refusal(owner, project)).toBeNull();
  expect(await workspaces.folderFor({ owner, session })).toBe(project);
});

test("[P7] hosts with different homes and disks give the same workspace the same name", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-workspace-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const store = createReferenceStore();
  const root = join(folder, "projects");
  const [first, second] = ["one", "two"].map((host) => {
    mkdirSync(join(folder, host, "disk", "tides"), { recursive: true });
    const home = join(folder, host, "home");
    mkdirSync(home);
    const workspaces = openWorkspaces({ home, roots: [root] }, store);
    return { disk: join(folder, host, "disk"), workspaces };
  });
  const own = await openTestSession(store);
  const { owner, session } = own;
  const sessions = [
    own,
    await openTestSession(store, { workspace: `session:${session}` }, owner),
    await openTestSession(store, { workspace: "notes" }, owner),
    await openTestSession(store, { workspace: join(root, "tides") }, owner),
  ];
  const placesOn = async ({ disk, workspaces }: NonNullable<typeof first>) => {
    rmSync(root, { force: true });
    symlinkSync(disk, root);
    return Promise.all(sessions.map((each) => workspaces.placeFor(each)));
  };
  const [here, there] = [await placesOn(first!), await placesOn(second!)];
  expect(here.map(({ workspace }) => workspace)).toEqual([
    `session:${session}`,
    `session:${session}`,
    "shared:notes",
    `root:${join(root, "tides")}`,
  ]);
  expect(there.map(({ workspace }) => workspace)).toEqual(here.map(({ workspace }) => workspace));
  for (const [n, { folder: place }] of here.entries()) expect(place).not.toBe(there[n]?.folder);
});
