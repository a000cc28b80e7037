import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ownerId } from "@holdfast/protocol";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { owner } from "../../server/auth/authenticator.ts";
import { openApi } from "../../../test/support/api-rig.ts";
import { openWorkspaces } from "./workspaces.ts";

function openMachine(roots: readonly string[] = []) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-folders-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const person = join(folder, "people", "ada");
  const home = join(person, ".holdfast");
  const project = join(person, "tides");
  mkdirSync(join(project, "charts"), { recursive: true });
  mkdirSync(home);
  const store = createReferenceStore();
  const open = () => openWorkspaces({ home, roots, person }, store);
  return { folder, person, home, project, store, open, workspaces: open() };
}

test("with no roots configured, the owner's yes adds a folder, and a later process remembers it", async () => {
  const { workspaces, open, project, store } = openMachine();
  expect(await workspaces.checkFolder(owner, project)).toMatchObject({ state: "askable" });
  expect(await workspaces.refusal(owner, project)).toContain("holdfast workspaces allow");
  expect(await workspaces.allowFolder(project)).toMatchObject({
    status: "allowed",
    folder: { path: project },
  });
  const later = open();
  expect((await later.allowed.list()).map(({ path }) => path)).toEqual([project]);
  for (const path of [project, join(project, "charts")]) {
    expect(await later.checkFolder(owner, path)).toEqual({ state: "allowed" });
    const { session } = await openTestSession(store, { workspace: path }, owner);
    expect(await later.folderFor({ owner, session })).toBe(path);
  }
  const [{ id } = { id: "" }] = await later.allowed.list();
  expect(await later.allowed.remove(id)).toBe("removed");
  expect(await later.allowed.remove(id)).toBe("not_found");
  expect(await workspaces.refusal(owner, project)).not.toBeNull();
});

test("[safety] no yes allows the root, the person's home, a folder around it, or Holdfast's home", async () => {
  const { workspaces, folder, person, home } = openMachine();
  symlinkSync(person, join(folder, "link"));
  mkdirSync(join(home, "memory"));
  for (const path of ["/", folder, person, join(folder, "link"), home, join(home, "memory")]) {
    expect(await workspaces.allowFolder(path)).toMatchObject({ status: "refused" });
    expect(await workspaces.checkFolder(owner, path)).toMatchObject({ state: "refused" });
  }
  expect(await workspaces.allowed.list()).toEqual([]);
  expect(await workspaces.allowFolder(join(folder, "missing"))).toMatchObject({
    status: "refused",
  });
});

test("[safety] the person's home is not allowed either where Holdfast's home is somewhere else", async () => {
  const { folder, person, project, store } = openMachine();
  const home = join(folder, "srv", "holdfast");
  mkdirSync(home, { recursive: true });
  const workspaces = openWorkspaces({ home, roots: [], person }, store);
  for (const path of [person, join(folder, "people")])
    expect(await workspaces.allowFolder(path)).toMatchObject({
      status: "refused",
      reason: expect.stringContaining("home folder") as string,
    });
  expect(await workspaces.allowFolder(project)).toMatchObject({ status: "allowed" });
});

test("[safety] a folder that was allowed and then replaced by a link is not followed", async () => {
  const { workspaces, folder, project } = openMachine();
  await workspaces.allowFolder(project);
  const other = join(folder, "other");
  mkdirSync(other);
  renameSync(project, `${project}-moved`);
  symlinkSync(other, project);
  expect(await workspaces.refusal(owner, project)).not.toBeNull();
  expect(await workspaces.refusal(owner, other)).not.toBeNull();
});

test("[safety] where the operator names roots, these alone decide, whatever was allowed before", async () => {
  const { folder, project, home, store, person } = openMachine();
  const free = openWorkspaces({ home, roots: [], person }, store);
  await free.allowFolder(project);
  const root = join(folder, "root");
  mkdirSync(join(root, "inside"), { recursive: true });
  const bound = openWorkspaces({ home, roots: [root], person }, store);
  expect(await bound.checkFolder(owner, project)).toMatchObject({ state: "refused" });
  expect(await bound.allowFolder(project)).toMatchObject({
    reason: expect.stringContaining(root) as string,
  });
  expect(await bound.checkFolder(owner, join(root, "inside"))).toEqual({ state: "allowed" });
});

test("[safety] the owner's yes is not one for the sessions of an API key", async () => {
  const { workspaces, project } = openMachine();
  await workspaces.allowFolder(project);
  const key = ownerId.parse("key:0011223344556677");
  expect(await workspaces.refusal(key, project)).not.toBeNull();
  expect(await workspaces.checkFolder(key, project)).toMatchObject({ state: "refused" });
});

test("[safety] a folder is allowed with the token itself, and not by a sign-in", async () => {
  const { home, project } = openMachine();
  const rig = openApi([], { home });
  onTestFinished(() => rig.close());
  const json = { host: "127.0.0.1", "content-type": "application/json" };
  const code = (await rig.authenticator.issueSignInCode()).code;
  const login = { method: "POST", headers: json, body: JSON.stringify({ code }) };
  const signedIn = await rig.app.request("/api/login", login, {});
  const [cookie = ""] = (signedIn.headers.get("set-cookie") ?? "").split(";");
  const init = { headers: { ...json, cookie } };
  expect((await rig.app.request("/api/folders", init, {})).status).toBe(200);
  const body = JSON.stringify({ path: project });
  const bySignIn = await rig.app.request("/api/folders", { ...init, method: "PUT", body }, {});
  expect(bySignIn.status).toBe(403);
  expect(await bySignIn.json()).toMatchObject({
    detail: expect.stringContaining("Only the token itself") as string,
  });
  const allowed = await rig.client.allowFolder({ body: { path: project } });
  expect(allowed).toMatchObject({ ok: true, value: { folder: { path: project } } });
  const created = await rig.client.createSession({ body: { workspace: project } });
  expect(created).toMatchObject({ ok: true, value: { session: { workspace: project } } });
  const listed = await rig.client.listSessions({ query: { workspace: project } });
  expect(listed).toMatchObject({ ok: true, value: { sessions: [{ workspace: project }] } });
  expect(await rig.client.allowFolder({ body: { path: "/" } })).toMatchObject({
    ok: false,
    error: { code: "folder_refused" },
  });
});
