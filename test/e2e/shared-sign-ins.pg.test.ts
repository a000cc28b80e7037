import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { expect, test } from "vitest";
import { serveWithClient, valueOf } from "./served-host.ts";

const pageKey = "k".repeat(43);

/** What a page does. */
async function signIn(address: string, proof: Record<string, string>): Promise<string> {
  const response = await fetch(`${address}api/login`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: new URL(address).origin },
    body: JSON.stringify({ ...proof, pageKey }),
  });
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
