import { createHmac } from "node:crypto";
import { readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { expect, test } from "vitest";
import { makeFolder, serveWithClient, valueOf } from "./served-host.ts";
import { createSession, turn } from "./shared-store.ts";

const pageKey = "k".repeat(43);

function postProof(address: string, proof: Record<string, string>): Promise<Response> {
  return fetch(`${address}api/login`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: new URL(address).origin },
    body: JSON.stringify({ ...proof, pageKey }),
  });
}

/** What a page does. */
async function signIn(address: string, proof: Record<string, string>): Promise<string> {
  const response = await postProof(address, proof);
  const [cookie = ""] = response.headers.getSetCookie();
  return cookie.slice(cookie.indexOf("=") + 1, cookie.indexOf(";"));
}

/** Through a proxy both hosts have one address; here the cookie's name has the port. */
async function statusOf(address: string, secret: string): Promise<number> {
  const cookie = `holdfast_${new URL(address).port}=${secret}`;
  const headers = { cookie, "x-holdfast-page-key": pageKey };
  return (await fetch(`${address}api/principal`, { headers })).status;
}

test("a browser that is signed in on one host is signed in on another, with the same password and keys", async () => {
  await using database = await createDatabase();
  const settings = {
    HOLDFAST_STORE: database.url,
    HOLDFAST_SECRETS_KEY: "a-key-of-both-hosts-".repeat(2),
  };
  const [one, other] = [await serveWithClient(settings), await serveWithClient(settings)];
  expect(readFileSync(join(one.home, "token"), "utf8")).not.toBe(
    readFileSync(join(other.home, "token"), "utf8"),
  );
  const secret = await signIn(one.address, { token: one.token });
  expect(await statusOf(one.address, secret)).toBe(200);
  expect(await statusOf(other.address, secret)).toBe(200);

  const { signIns } = valueOf(await other.client.listSignIns());
  valueOf(await other.client.revokeSignIn({ params: { id: signIns[0]?.id ?? "" } }));
  expect(await statusOf(other.address, secret)).toBe(401);
  await expect.poll(() => statusOf(one.address, secret)).toBe(401);

  valueOf(await one.client.setPassword({ body: { password: "correct horse" } }));
  const byPassword = await signIn(other.address, { password: "correct horse" });
  expect(await statusOf(one.address, byPassword)).toBe(200);

  const params = { provider: "openai" } as const;
  valueOf(await one.client.putSecret({ params, body: { key: "sk-of-both-hosts" } }));
  const keyOnOther = async () => {
    const { providers } = valueOf(await other.client.listModels());
    return providers.find(({ provider }) => provider === "openai")?.key;
  };
  await expect.poll(keyOnOther).toMatchObject({ from: "stored" });
});

test("a page that takes over a sign-in at one host is signed in on another at once", async () => {
  await using database = await createDatabase();
  const settings = {
    HOLDFAST_STORE: database.url,
    HOLDFAST_SECRETS_KEY: "a-key-of-both-hosts-".repeat(2),
  };
  const [one, other] = [await serveWithClient(settings), await serveWithClient(settings)];
  const origin = new URL(one.address).origin;
  const headers = { "content-type": "application/json", origin };
  const login = (body: object, cookie = "") =>
    fetch(`${one.address}api/login`, {
      method: "POST",
      headers: { ...headers, cookie },
      body: JSON.stringify(body),
    });
  const [issued = ""] = (await login({ token: one.token })).headers.getSetCookie();
  const cookie = issued.slice(0, issued.indexOf(";"));
  const unbound = cookie.slice(cookie.indexOf("=") + 1);
  expect(await statusOf(other.address, unbound)).toBe(401);
  expect((await login({ pageKey }, cookie)).ok).toBe(true);
  expect(await statusOf(other.address, unbound)).toBe(200);
});

test("three hosts with homes of their own are one to people: links, attempts, webhooks, trust and memory", async () => {
  await using database = await createDatabase();
  const folder = realpathSync(makeFolder());
  const settings = {
    HOLDFAST_STORE: database.url,
    HOLDFAST_SECRETS_KEY: "a-key-of-three-hosts-".repeat(2),
    HOLDFAST_WORKSPACE_ROOTS: folder,
  };
  const [one, two, three] = [
    await serveWithClient(settings),
    await serveWithClient(settings),
    await serveWithClient(settings),
  ];

  // A link of one host opens on any, once.
  const { code } = valueOf(await one.client.createSignInCode());
  const secret = await signIn(two.address, { code });
  expect(await statusOf(three.address, secret)).toBe(200);
  expect((await postProof(three.address, { code })).status).toBe(401);

  // That was the first wrong proof. Four more are free, wherever they are sent.
  const statuses: number[] = [];
  for (const { address } of [one, two, three, one, two])
    statuses.push((await postProof(address, { code: "wrong" })).status);
  expect(statuses).toEqual([401, 401, 401, 401, 429]);

  const params = { name: "ci" } as const;
  const made = valueOf(await one.client.putWebhook({ params, body: {} }));
  const post = async (address: string) => {
    const body = JSON.stringify({ text: "The build has failed. {words:1}" });
    const [id, at] = ["build-1", Math.floor(Date.now() / 1_000)];
    const key = Buffer.from((made.secret ?? "").replace(/^whsec_/, ""), "base64");
    const signature = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
    const headers = {
      "webhook-id": id,
      "webhook-timestamp": String(at),
      "webhook-signature": `v1,${signature}`,
    };
    const response = await fetch(`${address}api/gateway/webhook/ci`, {
      method: "POST",
      headers,
      body,
    });
    return response.status;
  };
  await expect.poll(() => post(three.address)).toBe(202);

  writeFileSync(join(folder, "AGENTS.md"), "Run the tests.");
  const session = valueOf(await one.client.createSession({ body: { workspace: folder } })).session;
  const whose = { params: { id: session.id } };
  const shown = valueOf(await one.client.readWorkspace(whose));
  const hash = shown.instructions?.hash ?? "";
  valueOf(await one.client.trustWorkspace({ ...whose, body: { hash, decision: "trusted" } }));
  expect(valueOf(await three.client.readWorkspace(whose))).toMatchObject({ trust: "trusted" });
});

test("turns that a lost host completed are remembered by another, and its home is not needed", async () => {
  await using database = await createDatabase();
  const settings = { HOLDFAST_STORE: database.url, HOLDFAST_REVIEW: "off" };
  const lost = await serveWithClient(settings);
  const id = await createSession(lost.client);
  await turn(lost.client, id, "Remember that the harbour gate opens at seven.");
  expect(valueOf(await lost.client.readMemory()).backlog.turns).toBe(1);
  await lost.host.kill();
  rmSync(lost.home, { recursive: true, force: true });

  const other = await serveWithClient(settings);
  await expect
    .poll(async () => valueOf(await other.client.listFacts()).facts.map(({ text }) => text))
    .toEqual(["the harbour gate opens at seven"]);
  await expect.poll(async () => valueOf(await other.client.readMemory()).backlog.turns).toBe(0);
});
