import { isSigned, openWebhookReceiver } from "@holdfast/testing/host/webhook-receiver";
import { beforeEach, expect, onTestFinished, test } from "vitest";

import { requirePage } from "./page/require-page.ts";
import { startHost } from "@holdfast/testing/process/start-process";
import { serveWithClient, valueOf, makeFolder, settingsFor } from "./served-host.ts";

beforeEach(requirePage);

const secret = "known-to-both-of-us";

test("a notification in progress when its host was killed is sent by the next one, under the same id and once", async () => {
  const receiver = await openWebhookReceiver(["hold"]);
  onTestFinished(receiver.close);
  const settings = { HOLDFAST_NOTIFY_URL: receiver.url, HOLDFAST_NOTIFY_SECRET: secret };
  const first = await serveWithClient(settings);
  const { client, host, home, address } = first;
  const session = await expectFailing(client);
  await receiver.until(1);
  expect(receiver.taken[0]?.message).toMatchObject({ type: "run_failed", title: null });
  expect(receiver.taken[0]?.message["do"]).toMatchObject({
    link: `${address}?session=${session}`,
  });
  await host.kill();

  const second = await serveWithClient({ ...settings, HOLDFAST_HOME: home });
  await receiver.until(2);
  const later = await expectFailing(second.client);
  await receiver.until(3);
  const [one, two, three] = receiver.taken.map(({ headers }) => headers["webhook-id"]);
  expect(receiver.taken).toHaveLength(3);
  expect(two).toBe(one);
  expect(three).not.toBe(one);
  expect(receiver.taken[2]?.message["sessionId"]).toBe(later);
  expect(receiver.taken.map((hook) => isSigned(hook, secret))).toEqual([true, true, true]);
});

test("a host that would notify without a signature doesn't start, and says what to set", async () => {
  const HOLDFAST_HOME = makeFolder();
  const env = settingsFor({ HOLDFAST_HOME, HOLDFAST_NOTIFY_URL: "http://127.0.0.1:9/hook" });
  const host = startHost(["serve"], { env });
  expect((await host.exited).code).not.toBe(0);
  expect(host.stderr()).toContain("HOLDFAST_NOTIFY_SECRET");
});

async function expectFailing(client: Awaited<ReturnType<typeof serveWithClient>>["client"]) {
  const { session } = valueOf(await client.createSession({ body: {} }));
  const body = { clientId: "one", text: "{fail:401} Hello" };
  valueOf(await client.sendMessage({ params: { id: session.id }, body }));
  return session.id;
}
