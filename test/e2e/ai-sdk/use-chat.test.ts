import { findFreePort } from "@holdfast/testing/process/free-port";
import { beforeEach, expect, test } from "vitest";
import { requirePage } from "../page/require-page.ts";
import { countWords, serveWithClient, settledText, valueOf } from "../served-host.ts";
import { createChatApp } from "./chat-app.ts";

beforeEach(requirePage);

const app = createChatApp();

test("useChat shows an answer as it is written; reloaded in the middle it shows the same message to its end", async () => {
  const host = await serveWithClient();
  const { page, send, answer, status, ids } = await app.open("one", host);
  await send("Tell {rate:10} {words:40}");
  await expect.poll(async () => countWords(await answer())).toBeGreaterThan(5);
  expect(await status()).toBe("streaming");
  const [before] = await ids();
  await page.reload();
  await expect.poll(async () => countWords(await answer())).toBeGreaterThan(10);
  await expect.poll(status).toBe("ready");
  const [session] = valueOf(await host.client.listSessions()).sessions;
  expect([await answer(), await ids()]).toEqual([
    await settledText(host.client, session!.id),
    [before],
  ]);
  expect(session!.messageCount).toBe(2);
});

test("[P5] a host killed in the middle of an answer: after a reload useChat shows all of it, once", async () => {
  const settings = {
    HOLDFAST_PORT: String(await findFreePort()),
    HOLDFAST_LEASE_MS: "3000",
  };
  const first = await serveWithClient(settings);
  const { page, send, answer, status, ids } = await app.open("two", first);
  await send("Tell {rate:10} {words:60}");
  await expect.poll(async () => countWords(await answer())).toBeGreaterThan(5);
  const [before] = await ids();
  await first.host.kill();

  const { client } = await serveWithClient({ ...settings, HOLDFAST_HOME: first.home });
  await page.reload();
  await expect.poll(async () => countWords(await answer())).toBeGreaterThan(20);
  await expect.poll(status).toBe("ready");
  const { sessions } = valueOf(await client.listSessions());
  expect(sessions).toHaveLength(1);
  expect([await answer(), await ids()]).toEqual([
    await settledText(client, sessions[0]!.id),
    [before],
  ]);
});

test("an approval in the application runs the command once, and the message goes on", async () => {
  const host = await serveWithClient();
  const { page, send, answer, status, ids } = await app.open("three", host);
  const command = JSON.stringify({ command: "echo run >> effects; cat effects" });
  await send(`{tool:terminal ${command}}`);
  await page.getByRole("button", { name: "Allow" }).click();
  await expect.poll(answer).toContain("answered “run”");
  await expect.poll(status).toBe("ready");
  expect(await ids()).toHaveLength(1);
  expect(valueOf(await host.client.listApprovals()).approvals).toEqual([]);
});
