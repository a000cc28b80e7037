import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { says } from "@holdfast/testing/fakes/scripted-model";
import { ids } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { newSession, sendAndWait, valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

function open() {
  const home = mkdtempSync(join(tmpdir(), "holdfast-trash-"));
  const rig = openApi(() => says("Noted."), { home });
  onTestFinished(async () => {
    await rig.close();
    rmSync(home, { recursive: true, force: true });
    expect(rig.bugs).toEqual([]);
  });
  return { rig, client: rig.client, home };
}

test("[P13] only what is in the trash can be deleted for good", async () => {
  const { rig, client } = open();
  const id = await newSession(rig);
  expect(await client.purgeSession({ params: { id } })).toMatchObject({
    error: { code: "session_not_trashed" },
  });
  expect(await client.purgeSession({ params: { id: ids.make("session") } })).toMatchObject({
    error: { code: "session_not_found" },
  });
  expect(valueOf(await client.readSession({ params: { id } })).session.id).toBe(id);
});

test("a purged session is gone with its search entries and its folder, and purging again succeeds", async () => {
  const { rig, client, home } = open();
  const id = await newSession(rig);
  const kept = await newSession(rig);
  await sendAndWait(rig, id, "kingfisher");
  await sendAndWait(rig, kept, "heron");
  const folder = join(home, "workspaces", id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "note.txt"), "private");
  valueOf(await client.trashSession({ params: { id } }));
  const { events } = valueOf(await client.purgeSession({ params: { id } }));
  expect(events).toBeGreaterThan(0);
  expect(await client.readSession({ params: { id } })).toMatchObject({
    error: { code: "session_not_found" },
  });
  expect(valueOf(await client.search({ query: { q: "kingfisher" } })).hits).toEqual([]);
  expect(existsSync(folder)).toBe(false);
  expect(valueOf(await client.purgeSession({ params: { id } }))).toEqual({ events });
  expect(valueOf(await client.readSession({ params: { id: kept } })).session.id).toBe(kept);
});

test.each(["active", "archived", "trashed"])(
  "the folder stays while another session, %s, works in it",
  async (shelf) => {
    const { rig, client, home } = open();
    const id = await newSession(rig);
    const folder = join(home, "workspaces", id);
    mkdirSync(folder, { recursive: true });
    const body = { workspace: `session:${id}` };
    const params = { id: valueOf(await client.createSession({ body })).session.id };
    if (shelf === "archived")
      valueOf(await client.changeSession({ params, body: { archived: true } }));
    if (shelf === "trashed") valueOf(await client.trashSession({ params }));
    valueOf(await client.trashSession({ params: { id } }));
    valueOf(await client.purgeSession({ params: { id } }));
    expect(existsSync(folder)).toBe(true);
  },
);

test("the folder stays while another session works in it, and goes with the last one", async () => {
  const { rig, client, home } = open();
  const id = await newSession(rig);
  const folder = join(home, "workspaces", id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "note.txt"), "shared");
  const body = { workspace: `session:${id}` };
  const { session: other } = valueOf(await client.createSession({ body }));
  valueOf(await client.trashSession({ params: { id } }));
  valueOf(await client.purgeSession({ params: { id } }));
  expect(existsSync(folder)).toBe(true);
  const { entries } = valueOf(await client.listFiles({ params: { id: other.id }, query: {} }));
  expect(entries).toMatchObject([{ name: "note.txt" }]);
  valueOf(await client.trashSession({ params: { id: other.id } }));
  expect(valueOf(await client.emptyTrash())).toEqual({ sessions: 1 });
  expect(existsSync(folder)).toBe(false);
});

test("emptying the trash deletes all that is in it, and nothing else", async () => {
  const { rig, client } = open();
  const all = [await newSession(rig), await newSession(rig), await newSession(rig)];
  const [kept, ...trashed] = all;
  for (const id of trashed) valueOf(await client.trashSession({ params: { id } }));
  expect(valueOf(await client.emptyTrash())).toEqual({ sessions: 2 });
  expect(valueOf(await client.listSessions({ query: { trashed: true } })).sessions).toEqual([]);
  expect(valueOf(await client.listSessions()).sessions).toMatchObject([{ id: kept }]);
  expect(valueOf(await client.emptyTrash())).toEqual({ sessions: 0 });
});

test("a trash that cannot be emptied says so, and what is left can be deleted later", async () => {
  const { rig, client } = open();
  for (const id of [await newSession(rig), await newSession(rig)])
    valueOf(await client.trashSession({ params: { id } }));
  const purge = rig.store.purge.bind(rig.store);
  let calls = 0;
  const failed = { status: "failed", code: "store_full", message: "The disk is full." } as const;
  Object.assign(rig.store, {
    purge: async (...args: Parameters<typeof purge>) =>
      (calls += 1) === 2 ? failed : purge(...args),
  });
  expect(await client.emptyTrash()).toMatchObject({ ok: false, error: { code: "store_full" } });
  expect(valueOf(await client.emptyTrash())).toEqual({ sessions: 1 });
});

test("an API key deletes nothing for good", async () => {
  const { rig, client } = open();
  const { secret } = valueOf(await client.createKey({ body: { name: "job", profile: "webhook" } }));
  const headers = { authorization: `Bearer ${secret}` };
  const refused = await rig.app.request("http://127.0.0.1/api/trash", {
    method: "DELETE",
    headers,
  });
  expect(refused.status).toBe(403);
});
