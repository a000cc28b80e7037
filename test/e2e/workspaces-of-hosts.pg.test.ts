import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client, SessionState } from "@holdfast/client";
import type { SessionId } from "@holdfast/protocol";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { afterAll, beforeAll, expect, test } from "vitest";
import { followUntil, hasEnded, serveWithClient, valueOf } from "./served-host.ts";

let database: Awaited<ReturnType<typeof createDatabase>>;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/** A host with a home of its own, as on a machine of its own. */
const serve = (settings: Record<string, string> = {}) =>
  serveWithClient({
    HOLDFAST_STORE: database.url,
    HOLDFAST_SECRETS_KEY: "a-key-of-all-hosts-".repeat(2),
    HOLDFAST_MODEL: "rehearsal",
    HOLDFAST_TOOL_POLICY: "trusted",
    HOLDFAST_LEASE_MS: "4000",
    HOLDFAST_REVIEW: "off",
    ...settings,
  });

let said = 0;
async function ask(
  client: Client,
  id: SessionId,
  tool: string,
  input: object,
): Promise<SessionState> {
  said += 1;
  const body = { clientId: `message-${said}`, text: `{tool:${tool} ${JSON.stringify(input)}}` };
  const { runId } = valueOf(await client.sendMessage({ params: { id }, body }));
  return followUntil(client, id, (state) => state.run?.id === runId && hasEnded(state));
}

const shownIn = (state: SessionState): string => JSON.stringify(state.entries);

test("files stay where they are: runs go there, other hosts forward to it, and nobody else gets in", async () => {
  const [one, two, stranger] = [
    await serve(),
    await serve(),
    await serve({ HOLDFAST_SECRETS_KEY: "the-key-of-somebody-else".repeat(2) }),
  ];
  const { id } = valueOf(await one.client.createSession({ body: {} })).session;
  const params = { id };
  const folderIn = ({ home }: { readonly home: string }) => join(home, "workspaces", id);
  await ask(one.client, id, "write_file", { path: "tide.txt", content: "high at seven" });
  expect(readFileSync(join(folderIn(one), "tide.txt"), "utf8")).toBe("high at seven");

  // The message arrives at a host that has not got the files.
  const elsewhere = await ask(two.client, id, "grep", { pattern: "at sev" });
  expect(shownIn(elsewhere)).toContain("tide.txt:1: high at seven");
  const listed = valueOf(await two.client.listFiles({ params, query: {} }));
  expect(listed.entries.map(({ name }) => name)).toEqual(["tide.txt"]);
  // Long enough to be compressed on its way between the hosts.
  const names = Array.from({ length: 200 }, (_, n) => `a-file-with-a-long-name-${n + 100}.txt`);
  mkdirSync(join(folderIn(one), "many"));
  for (const name of names) writeFileSync(join(folderIn(one), "many", name), "");
  const many = valueOf(await two.client.listFiles({ params, query: { path: "many" } }));
  expect(many.entries.map(({ name }) => name)).toEqual(names);
  rmSync(join(folderIn(one), "many"), { recursive: true });
  const read = await fetch(`${two.address}api/sessions/${id}/file?path=tide.txt&as=text`, {
    headers: { authorization: `Bearer ${two.token}` },
  });
  expect(await read.text()).toBe("high at seven");
  expect(read.headers.get("content-security-policy")).toContain("sandbox");
  const large = new Uint8Array(3 * 1024 * 1024).fill(7);
  const write = await fetch(`${two.address}api/sessions/${id}/file?path=large.bin`, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${two.token}`,
      "content-type": "application/octet-stream",
    },
    body: large,
  });
  expect(write.status).toBe(200);
  expect(readFileSync(join(folderIn(one), "large.bin")).equals(large)).toBe(true);
  const missing = await two.client.listFiles({ params, query: { path: "nowhere" } });
  expect(missing).toMatchObject({ ok: false, error: { code: "file_not_found" } });
  expect(existsSync(folderIn(two))).toBe(false);

  const given = valueOf(await two.client.createSession({ body: {} })).session.id;
  await ask(one.client, given, "write_file", { path: "old.txt", content: "before" });
  const takeOver = () => two.client.takeOverWorkspace({ params: { id: given }, body: {} });
  expect(await takeOver()).toMatchObject({ ok: false, error: { code: "workspace_not_lost" } });

  // A host with another key is not believed, and neither is anybody who signs nothing.
  expect(await stranger.client.listFiles({ params, query: {} })).toMatchObject({
    ok: false,
    error: {
      code: "workspace_elsewhere",
      problem: { detail: expect.stringContaining("HOLDFAST_SECRETS_KEY") as string },
    },
  });
  const unsigned = await fetch(`${one.address}api/sessions/${id}/files`, {
    headers: { "x-holdfast-forwarded": Buffer.from("{}").toString("base64url") },
  });
  expect(unsigned.status).toBe(403);

  // Its host is gone: nothing is made up, and the run says what to do.
  await one.host.kill();
  const lost = async () => {
    const answer = await two.client.listFiles({ params, query: {} });
    return !answer.ok && answer.error.kind === "problem" ? answer.error.problem.detail : "";
  };
  await expect.poll(lost, { timeout: 30_000 }).toContain("has not been heard from since");
  const refused = await ask(two.client, id, "read_file", { path: "tide.txt" });
  expect(refused.run).toMatchObject({ state: "failed", cause: "workspace_elsewhere" });
  expect(shownIn(refused)).toContain("Start that host again");
  expect(existsSync(folderIn(two))).toBe(false);

  // Only a person gives the files up, and then everybody is told.
  valueOf(await takeOver());
  const emptied = await ask(two.client, given, "write_file", { path: "new.txt", content: "after" });
  expect(shownIn(emptied)).toContain("The conversation continues in an empty folder");
  expect(readdirSync(join(two.home, "workspaces", given))).toEqual(["new.txt"]);

  // As an earlier version has left it, which knew no rows.
  const older = valueOf(await two.client.createSession({ body: {} })).session.id;
  mkdirSync(join(one.home, "workspaces", older));
  writeFileSync(join(one.home, "workspaces", older, "kept.txt"), "kept");
  rmSync(join(one.home, "workspaces", "registered"));

  const again = await serve({ HOLDFAST_HOME: one.home });
  await expect.poll(lost, { timeout: 30_000 }).toBe("");
  const continued = await ask(two.client, id, "read_file", { path: "tide.txt" });
  expect(continued.run).toMatchObject({ state: "completed" });
  expect(valueOf(await again.client.listFiles({ params, query: {} })).entries).toHaveLength(2);
  const namesOfOlder = async () => {
    const answer = await two.client.listFiles({ params: { id: older }, query: {} });
    return answer.ok ? answer.value.entries.map(({ name }) => name) : [];
  };
  const isRegistered = () => existsSync(join(one.home, "workspaces", "registered"));
  await expect.poll(isRegistered, { timeout: 30_000 }).toBe(true);
  expect(await namesOfOlder()).toEqual(["kept.txt"]);
  // What it has is stale: it is kept, and not used.
  const current = await again.client.listFiles({ params: { id: given }, query: {} });
  expect(valueOf(current).entries.map(({ name }) => name)).toEqual(["new.txt"]);
  expect(readdirSync(join(one.home, "workspaces", given))).toEqual(["old.txt"]);
});
