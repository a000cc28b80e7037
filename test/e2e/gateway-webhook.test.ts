import { webhookTestSecret } from "../../packages/host/test/support/gateway/webhook-rig.ts";
import { isSigned, openWebhookReceiver } from "@holdfast/testing/host/webhook-receiver";
import { createHmac } from "node:crypto";
import { beforeEach, expect, onTestFinished, test } from "vitest";

import { requirePage } from "./page/require-page.ts";
import { serveWithClient, textIn, valueOf } from "./served-host.ts";

beforeEach(requirePage);

type Receiver = Awaited<ReturnType<typeof openWebhookReceiver>>;
type Served = Awaited<ReturnType<typeof serveWithClient>>;

async function openReceiver(...answers: Parameters<typeof openWebhookReceiver>): Promise<Receiver> {
  const receiver = await openWebhookReceiver(...answers);
  onTestFinished(() => receiver.close());
  return receiver;
}

/** Like a program that has nothing but the secret. */
function say(
  { address }: Served,
  id: string,
  text: string,
  secret = webhookTestSecret,
  name = "ci",
) {
  const body = JSON.stringify({ conversation: "deploys", text });
  const at = String(Math.floor(Date.now() / 1_000));
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : secret;
  const signature = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": at,
    "webhook-signature": `v1,${signature}`,
  };
  return fetch(`${address}api/gateway/webhook/${name}`, { method: "POST", body, headers });
}

async function entriesOf({ client }: Served, role: "user" | "assistant"): Promise<string[]> {
  const [session] = valueOf(await client.listSessions()).sessions;
  const { entries } = valueOf(await client.readSession({ params: { id: session!.id } }));
  return entries.flatMap((entry) =>
    entry.type === "message" && entry.role === role ? [textIn(entry)] : [],
  );
}

const settingsFor = (url: string) => ({
  HOLDFAST_WEBHOOKS: JSON.stringify({ ci: { secret: webhookTestSecret, url, network: "private" } }),
  HOLDFAST_LEASE_MS: "3000",
});

test("[P11] a host killed between a webhook's message and its answer makes one turn of it, and the receiver gets one answer", async () => {
  // The receiver takes it and never answers, so the killed host can't know whether it arrived.
  const receiver = await openReceiver(["hold"]);
  const settings = settingsFor(receiver.url);
  const first = await serveWithClient(settings);
  const accepted = (await (await say(first, "msg-1", "Hello {words:5}")).json()) as object;
  await receiver.until(1);
  await first.host.kill();
  const second = await serveWithClient({ ...settings, HOLDFAST_HOME: first.home });
  // The program hasn't got an answer either, and repeats its message.
  const again = await say(second, "msg-1", "Hello {words:5}");
  expect([again.status, await again.json()]).toEqual([202, accepted]);
  await receiver.until(2);
  const [one, two] = receiver.taken;
  expect(two?.headers["webhook-id"]).toBe(one?.headers["webhook-id"]);
  expect([two?.body, isSigned(two!, webhookTestSecret)]).toEqual([one?.body, true]);
  expect(await entriesOf(second, "user")).toEqual(["Hello {words:5}"]);
  expect(await entriesOf(second, "assistant")).toHaveLength(1);
  const pendingCount = async () => valueOf(await second.client.readGateway()).outbox;
  await expect.poll(pendingCount).toEqual([]);
  expect(receiver.taken).toHaveLength(2);
  expect((await say(second, "msg-1", "Something else")).status).toBe(409);
});

test("[P11] the next host answers an accepted message when its own is killed at once", async () => {
  const receiver = await openReceiver();
  const settings = settingsFor(receiver.url);
  const first = await serveWithClient(settings);
  const answer = await say(first, "msg-1", "Hello {rate:20} {words:30}");
  expect(answer.status).toBe(202);
  await first.host.kill();
  const second = await serveWithClient({ ...settings, HOLDFAST_HOME: first.home });
  expect((await say(second, "msg-1", "Hello {rate:20} {words:30}")).status).toBe(202);
  await receiver.until(1);
  expect(await entriesOf(second, "user")).toHaveLength(1);
});

test("a webhook connected at runtime works at once, with a new secret too, and not after it is removed", async () => {
  const receiver = await openReceiver();
  const { host } = new URL(receiver.url);
  const served = await serveWithClient({ HOLDFAST_EGRESS_ALLOW: host });
  const params = { name: "home" };
  const put = valueOf(await served.client.putWebhook({ params, body: { url: receiver.url } }));
  const shown = { name: "home", to: host, connectedBy: "page", rotating: false, commands: [] };
  expect(put.webhook).toEqual(shown);
  const old = put.secret ?? "";
  expect((await say(served, "msg-1", "One {words:3}", old, "home")).status).toBe(202);
  await receiver.until(1);
  const { secret } = valueOf(await served.client.rotateWebhook({ params, body: {} }));
  for (const [index, each] of [old, secret ?? ""].entries())
    expect((await say(served, `msg-2${index}`, "/status", each, "home")).status).toBe(202);
  await receiver.until(3);
  const { platform, state, webhooks, lanes } = valueOf(await served.client.readGateway());
  expect([platform, state, lanes.map(({ lane }) => lane)]).toEqual([
    "webhook",
    "receiving",
    ["webhook:home:deploys"],
  ]);
  expect(webhooks).toMatchObject([{ name: "home", rotating: true }]);
  await served.client.rotateWebhook({ params, body: { old: "drop" } });
  expect((await say(served, "msg-3", "/status", secret ?? "", "home")).status).toBe(401);
  await served.client.removeWebhook({ params });
  expect(valueOf(await served.client.readGateway()).webhooks).toEqual([]);
});
