import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, executeCommand } from "@holdfast/client";
import { keptBlobPrefix, keptByNobody } from "@holdfast/engine";
import { expect, onTestFinished, test } from "vitest";

import { newSession, valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

function open() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-projects-")));
  const rig = openApi([], { environment: {}, home: join(root, "home"), workspaceRoots: [root] });
  mkdirSync(join(root, "tides"));
  mkdirSync(join(root, "home"));
  onTestFinished(async () => {
    await rig.close();
    rmSync(root, { recursive: true });
    expect(rig.bugs).toEqual([]);
  });
  return { ...rig, folder: join(root, "tides") };
}

test("a session that begins in a project has what the project says, unless it names something else", async () => {
  const { client, folder } = open();
  const editor = { name: "Editor", text: "You are an editor." };
  const { persona } = valueOf(await client.addPersona({ body: editor }));
  const shared = { workspace: folder, persona: persona.id, model: "rehearsal" };
  valueOf(await client.addProject({ body: { name: "Tides", ...shared } }));
  const create = async (body: object) => valueOf(await client.createSession({ body })).session;
  expect(await create({ project: "Tides" })).toMatchObject({ project: "Tides", ...shared });
  expect(
    await create({ project: "Tides", persona: "default", workspace: "elsewhere" }),
  ).toMatchObject({ project: "Tides", persona: "default", workspace: "elsewhere" });
  expect(await create({ project: "No such project" })).toMatchObject({
    project: "No such project",
    workspace: null,
  });
});

test("a folder outside of the roots, an unknown persona and an unknown model are refused, and nothing is stored", async () => {
  const { client } = open();
  const refused = async (settings: object) => {
    const added = await client.addProject({ body: { name: "Tides", ...settings } });
    return added.ok ? null : added.error.code;
  };
  expect(await refused({ workspace: "/etc" })).toBe("invalid_request");
  expect(await refused({ persona: "nobody" })).toBe("persona_not_found");
  expect(await refused({ model: "nobody/nothing" })).toBe("model_unknown");
  expect(valueOf(await client.listProjects()).projects).toEqual([]);
});

test("[P13] deleting a project keeps its sessions, which still name it", async () => {
  const { client } = open();
  const { project } = valueOf(await client.addProject({ body: { name: "Tides" } }));
  const { session } = valueOf(await client.createSession({ body: { project: "Tides" } }));
  expect(await client.removeProject({ params: { id: project.id } })).toMatchObject({ ok: true });
  const { sessions } = valueOf(await client.listSessions({ query: { project: "Tides" } }));
  expect(sessions.map(({ id }) => id)).toEqual([session.id]);
  const params = { id: project.id };
  const headers = { "if-match": project.version };
  expect(await client.changeProject({ params, headers, body: { text: "x" } })).toMatchObject({
    error: { code: "project_not_found" },
  });
});

test("/project lists the projects and moves the session; a chat with limited reach may do neither", async () => {
  const rig = open();
  const { client } = rig;
  valueOf(await client.addProject({ body: { name: "Tides" } }));
  const sessionId = await newSession(rig);
  const context = { client, sessionId, key: "k", now: Date.now };
  const run = (argument: string, limits: object = {}) =>
    executeCommand({ ...context, ...limits }, { name: "project", argument });
  expect(await run("")).toMatchObject({ kind: "project", current: null });
  expect(await run("tid")).toMatchObject({ what: "project_chosen", session: { project: "Tides" } });
  expect(await run("Winds")).toMatchObject({ kind: "refused", code: "project_not_found" });
  for (const limits of [{ memory: "none" }, { mayReach: async () => false }])
    expect(await run("none", limits)).toMatchObject({ kind: "refused", code: "forbidden" });
  expect(await run("")).toMatchObject({ current: "Tides" });
  expect(await run("none")).toMatchObject({ session: { project: null } });
});

test("[safety] an API key reads no projects, and naming one of the owner's gives its session nothing of it", async () => {
  const rig = open();
  valueOf(await rig.client.addProject({ body: { name: "Tides", workspace: rig.folder } }));
  const { secret } = valueOf(await rig.client.createKey({ body: { name: "job" } }));
  const program = createClient({
    token: secret,
    fetch: (url, init) => rig.app.request(url, init, {}),
  });
  expect(await program.listProjects()).toMatchObject({ error: { code: "forbidden" } });
  const { session } = valueOf(await program.createSession({ body: { project: "Tides" } }));
  expect(session).toMatchObject({ project: "Tides", workspace: null });
});

test("files are added, listed and deleted over HTTP, and go with their project", async () => {
  const { client, store, owner } = open();
  const { project } = valueOf(await client.addProject({ body: { name: "Tides" } }));
  const params = { id: project.id };
  const upload = async (text: string) =>
    valueOf(
      await client.putBlob({ body: new TextEncoder().encode(text), mediaType: "text/plain" }),
    );
  const add = async (text: string, options: object = {}) => {
    const { blobId } = await upload(text);
    return client.addProjectFile({ params, body: { name: "tides.md", blobId, ...options } });
  };
  const { file } = valueOf(await add("Noon"));
  expect(await add("One")).toMatchObject({ error: { code: "project_file_exists" } });
  expect(await add("\0")).toMatchObject({ error: { code: "project_file_not_text" } });
  expect(valueOf(await add("One", { replace: true })).file).toMatchObject({ id: file.id });
  const names = valueOf(await client.listProjectFiles({ params })).files.map(({ name }) => name);
  expect(names).toEqual(["tides.md"]);
  expect(await client.removeProjectFile({ params: { ...params, file: "nothing" } })).toMatchObject({
    error: { code: "project_file_not_found" },
  });
  expect(await client.removeProjectFile({ params: { ...params, file: file.id } })).toMatchObject({
    ok: true,
  });
  const last = valueOf(await add("Two")).file;
  const keepers = async () => {
    const row = await store.register.read(owner, `${keptBlobPrefix}${last.blobId}`);
    return row?.value;
  };
  expect(await keepers()).toBe(JSON.stringify([project.id]));
  await client.removeProject({ params });
  expect(await keepers()).toBe(keptByNobody);
  for (const answer of [await client.listProjectFiles({ params }), await add("Three")])
    expect(answer).toMatchObject({ error: { code: "project_not_found" } });
});
