import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { ids, laneKey, noRights, ownerId, ownerRights } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";
import { newSession, valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";
import { openRightsResolver } from "../../rights/resolve-rights.ts";
import { openApiKeys } from "./api-keys.ts";
import { owner } from "./authenticator.ts";

function openTwo() {
  const clock = { now: 1_000_000 };
  const store = createReferenceStore();
  const open = () => openApiKeys({ register: store.register, owner, now: () => clock.now });
  return { clock, store, one: open(), other: open() };
}

async function makeKey(keys: ReturnType<typeof openApiKeys>, name: string) {
  const made = await keys.create(name, "own");
  if (typeof made === "string") throw new Error(made);
  return made;
}

test("a key made on one host is valid on another at once, and its revocation half a second later", async () => {
  const { clock, one, other } = openTwo();
  expect(await other.list()).toEqual([]);
  const { key, secret } = await makeKey(one, "job");
  const found = await other.find(secret);
  expect(found).toMatchObject({ key: { name: "job", profile: "own" }, owner: `key:${key.id}` });
  expect(await one.revoke(key.id)).toBe("revoked");
  expect(await one.revoke(key.id)).toBe("not_found");
  clock.now += 500;
  expect(await other.find(secret)).toBeUndefined();
  expect([found?.revoked.aborted, found?.isStillValid()]).toEqual([true, false]);
  expect(await other.list()).toMatchObject([{ name: "job", revokedAt: 1_000_000 }]);
});

test("[safety] only a digest of a key is stored, and a changed secret finds nothing", async () => {
  const { store, one } = openTwo();
  const { secret } = await makeKey(one, "job");
  const rows = await store.register.list(owner, "api-key/", 10);
  expect(JSON.stringify(rows)).not.toContain(secret.slice(-43));
  const changed = `${secret.slice(0, -1)}${secret.endsWith("A") ? "B" : "A"}`;
  for (const given of [changed, secret.slice(0, -1), `${secret}A`, "hfk_", ""])
    expect(await one.find(given)).toBeUndefined();
});

test("a name is used once at a time, and its last use is kept about to the minute", async () => {
  const { clock, one } = openTwo();
  const { key, secret } = await makeKey(one, "job");
  expect(await one.create("job", "own")).toBe("name_taken");
  await one.find(secret);
  const lastUse = async () => (await one.list())[0]?.lastUsedAt;
  await expect.poll(lastUse).toBe(clock.now);
  clock.now += 59_999;
  await one.find(secret);
  expect(await lastUse()).toBe(1_000_000);
  await one.revoke(key.id);
  expect(await one.create("job", "own")).toMatchObject({ key: { name: "job" } });
});

test("a new key replaces the longest revoked one when there is no room, and never one in use", async () => {
  const { store, one } = openTwo();
  const { secret } = await makeKey(one, "in use");
  const rest = { profile: "own", digest: "", createdAt: 0, lastUsedAt: null };
  for (let n = 1; n < 500; n += 1) {
    const value = JSON.stringify({ ...rest, id: `id-${n}`, name: `old-${n}`, revokedAt: n });
    await store.register.put({ owner, key: `api-key/id-${n}`, value, expect: 0 });
  }
  const made = await makeKey(one, "new");
  const names = (await one.list()).map(({ name }) => name);
  expect(names).toHaveLength(500);
  expect(names).not.toContain("old-1");
  expect(await one.find(secret)).toMatchObject({ key: { name: "in use" } });
  expect(await one.find(made.secret)).toMatchObject({ key: { name: "new" } });
});

test("[safety] a key reaches the sessions made with it, and neither others nor settings", async () => {
  const rig = openApi();
  onTestFinished(() => rig.close());
  const ownersSession = await newSession(rig);
  const { key, secret } = valueOf(await rig.client.createKey({ body: { name: "job" } }));
  const ask = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${secret}` };
    const response = await rig.ask(method, path, body, headers);
    return { status: response.status, body: (await response.json().catch(() => null)) as unknown };
  };
  expect(await ask("GET", "/api/principal")).toMatchObject({
    body: { principal: { by: "api-key", ownerId: `key:${key.id}` } },
  });
  const made = await ask("POST", "/api/sessions", {});
  expect(made.status).toBe(201);
  const { session } = made.body as { session: { id: string } };
  expect((await ask("GET", `/api/sessions/${session.id}`)).status).toBe(200);
  expect((await ask("GET", `/api/sessions/${ownersSession}`)).status).toBe(404);
  expect(await ask("GET", "/api/sessions")).toMatchObject({
    body: { sessions: [{ id: session.id }] },
  });
  for (const [method, path, body] of [
    ["GET", "/api/keys"],
    ["POST", "/api/keys", { name: "another" }],
    ["GET", "/api/sign-ins"],
    ["PUT", "/api/password", { password: "correct horse" }],
    ["PUT", "/api/secrets/openai", { key: "sk-x" }],
    ["GET", "/api/gateway"],
    ["GET", "/metrics"],
    ["POST", "/api/fsck", {}],
    ["GET", "/api/memory"],
  ] as const)
    expect([path, (await ask(method, path, body)).status]).toEqual([path, 403]);
  valueOf(await rig.client.revokeKey({ params: { id: key.id } }));
  expect((await ask("GET", "/api/sessions")).status).toBe(401);
});

test("[safety] a key that may not write files cannot put them back, in any of the ways", async () => {
  const rig = openApi();
  onTestFinished(() => rig.close());
  const readers = { tools: ["read_file"], sessions: "own", memory: "none", approvals: false };
  expect((await rig.ask("PUT", "/api/rights/profiles/readers", readers)).status).toBe(200);
  const refused: (readonly unknown[])[] = [];
  for (const profile of ["readers", "program"]) {
    const { secret } = valueOf(await rig.client.createKey({ body: { name: profile, profile } }));
    const headers = { authorization: `Bearer ${secret}` };
    const made = await rig.ask("POST", "/api/sessions", {}, headers);
    const { session } = (await made.json()) as { session: { id: string } };
    for (const [path, body] of [
      ["undo", { files: "restore" }],
      ["redo", { files: "restore" }],
      ["alternatives", { files: "restore", messageId: ids.make("message") }],
      ["undo", {}],
    ] as const) {
      const response = await rig.ask("POST", `/api/sessions/${session.id}/${path}`, body, headers);
      const { code, detail } = (await response.json()) as { code: string; detail?: string };
      if (code === "forbidden") refused.push([profile, path, body, detail]);
    }
  }
  const why: unknown = expect.stringContaining("write_file");
  expect(refused).toMatchObject([
    ["readers", "undo", { files: "restore" }, why],
    ["readers", "redo", { files: "restore" }, why],
    ["readers", "alternatives", { files: "restore" }, why],
  ]);
});

test("[safety] what a key causes has the rights of its profile, and nothing more", async () => {
  const rig = openApi();
  onTestFinished(() => rig.close());
  const readers = { tools: ["read_file"], sessions: "own", memory: "none", approvals: false };
  expect((await rig.ask("PUT", "/api/rights/profiles/readers", readers)).status).toBe(200);
  const unknown = await rig.ask("POST", "/api/keys", { name: "other", profile: "nobody" });
  expect(unknown.status).toBe(404);
  const profile = "readers";
  const made = valueOf(await rig.client.createKey({ body: { name: "job", profile } }));
  const { register } = rig.store;
  const keyOwner = ownerId.parse(`key:${made.key.id}`);
  const rights = openRightsResolver(register);
  const lane = laneKey.parse("cli:main");
  for (const each of [null, lane])
    expect(await rights.ofLane(keyOwner, each)).toMatchObject({ profile, tools: ["read_file"] });
  const question = { owner: keyOwner, session: ids.make("session"), lane, clientId: null } as const;
  expect(await rights.ofMessage({ ...question, given: ownerRights })).toMatchObject({ profile });
  const answered = await rig.ask(
    "POST",
    `/api/approvals/${ids.make("approval")}`,
    { decision: "once" },
    { authorization: `Bearer ${made.secret}` },
  );
  expect(answered.status).toBe(403);
  expect((await rig.client.revokeKey({ params: { id: made.key.id } })).ok).toBe(true);
  expect(await openRightsResolver(register).ofLane(keyOwner, null)).toEqual(noRights);
});

test("[safety] a key names no folder of the operator, unless its profile is the owner's", async () => {
  const parent = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-key-")));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  const [home, folder] = [join(parent, "home"), join(parent, "project")];
  mkdirSync(home);
  mkdirSync(folder);
  const rig = openApi([], { home, workspaceRoots: [folder] });
  onTestFinished(() => rig.close());
  const create = async (name: string, profile: string, workspace: string) => {
    const { secret } = valueOf(await rig.client.createKey({ body: { name, profile } }));
    const as = { authorization: `Bearer ${secret}` };
    const made = await rig.ask("POST", "/api/sessions", { workspace }, as);
    const own = await rig.ask("POST", "/api/sessions", {}, as);
    const { session } = (await own.json()) as { session: { id: string } };
    const changed = await rig.ask("PATCH", `/api/sessions/${session.id}`, { workspace }, as);
    return [made.status, changed.status];
  };
  expect(await create("one", "own", folder)).toEqual([400, 400]);
  expect(await create("two", "own", "shared")).toEqual([201, 200]);
  expect(await create("three", "owner", folder)).toEqual([201, 200]);
  expect((await rig.ask("POST", "/api/sessions", { workspace: folder })).status).toBe(201);
});
