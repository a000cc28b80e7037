import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import { openProviderServer } from "@holdfast/testing/host/providers/provider-server";
import { afterAll, expect, test } from "vitest";
import { followUntil, hasEnded, valueOf } from "../served-host.ts";
import { createPageRig, messageField, send } from "./page-rig.ts";

const provider = await openProviderServer(({ path }) => ({
  frames: path.endsWith("/v1/models")
    ? ['{"object":"list","data":[{"id":"heron"},{"id":"stork"}]}']
    : chatFrames([{ text: "Noted." }]),
}));
afterAll(() => provider[Symbol.asyncDispose]());
const price = { input: 3, output: 15, cacheRead: 0.3 };
const rig = createPageRig({
  HOLDFAST_MODEL: "openai-compatible/heron",
  HOLDFAST_OPENAI_BASE_URL: `${provider.url}/v1`,
  HOLDFAST_OPENAI_API_KEY: "a-key",
  HOLDFAST_MODELS: JSON.stringify({
    "openai-compatible/heron": { window: 30_000, price },
    "openai-compatible/stork": { window: 200_000, price },
  }),
});

test("what a switch of the model, another beginning, changed settings or a large file costs is said before", async () => {
  const client = rig.client();
  valueOf(await client.addPersona({ body: { name: "Pilot", text: "You are a pilot." } }));
  const { session } = valueOf(await client.createSession({ body: {} }));
  const folder = join(rig.home(), "workspaces", session.id);
  mkdirSync(folder, { recursive: true });
  const params = { id: session.id };
  const body = { clientId: "long", text: "high water ".repeat(6_000) };
  valueOf(await client.sendMessage({ params, body }));
  await followUntil(client, session.id, hasEnded);
  writeFileSync(join(folder, "AGENTS.md"), "Speak like a pilot.");
  const { tab, consoleErrors, openAnother } = await rig.openTab({
    at: `?session=${session.id}`,
  });
  const anew =
    /reads about [\d,]+ tokens from scratch, for about \$0\.0\d+ instead of about \$0\.00\d+/;

  const question = tab.getByRole("region", { name: "AGENTS.md found in this folder" });
  await question.getByText(anew).waitFor();

  await send(tab, "/persona");
  const dialog = tab.getByRole("dialog");
  await dialog.getByText(anew).waitFor();
  await tab.keyboard.press("Escape");
  await send(tab, "/persona pilot");
  await tab.getByText(anew).filter({ hasText: "Persona changed." }).waitFor();

  await tab.getByRole("button", { name: /heron/ }).click();
  await tab.getByRole("menuitemradio", { name: /stork/ }).click();
  await dialog.getByText("The new model has nothing cached", { exact: false }).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(valueOf(await client.readSession({ params })).session.model).toBeNull();

  const file = { name: "tides.txt", mimeType: "text/plain" };
  const picker = tab.locator('input[type="file"]');
  const cost = tab.getByText(/The attachments take about [\d,]+ tokens, which costs about/);
  const words = "high water ".repeat(6_000);
  await picker.setInputFiles({ ...file, buffer: Buffer.from(words) });
  await cost.waitFor();
  await tab.getByRole("button", { name: "Remove tides.txt" }).click();
  await cost.waitFor({ state: "detached" });
  await messageField(tab).fill("");

  // What a change of the settings costs the conversations that it reaches.
  const shared =
    /With its next message, 1 conversation of the last 24 hours will send about [\d,]+ tokens from scratch, for about \$0\.0\d+/;
  valueOf(await client.addProject({ body: { name: "Tides", text: "All times are UTC." } }));
  const settings = await openAnother("?settings=mcp");
  await settings.getByText(shared).waitFor();
  await settings.goto(new URL("?settings=agent", rig.address()).href);
  await settings.getByText(shared).waitFor();
  await settings.getByRole("button", { name: "Edit project Tides" }).click();
  await settings.getByRole("form", { name: "Edit project Tides" }).waitFor();
  // The conversation is not in the project yet, so only the skills have a price.
  await settings.getByText(shared).waitFor();
  valueOf(await client.changeSession({ params, body: { project: "Tides" } }));
  await settings.reload();
  await settings.getByRole("button", { name: "Edit project Tides" }).click();
  await settings.getByText(shared).nth(1).waitFor();
  expect(consoleErrors).toEqual([]);
});

test("a report that only repeats the last one leaves no unread mark", async () => {
  const client = rig.client();
  const { tab, consoleErrors } = await rig.openTab();
  const { session } = valueOf(await client.createSession({ body: { title: "The tides" } }));
  const { schedule } = valueOf(
    await client.createSchedule({
      body: {
        title: "Tides",
        prompt: "How are the tides?",
        times: { everyMinutes: 60 },
        timeZone: "UTC",
        target: { sessionId: session.id },
        report: "changes",
      },
    }),
  );
  const report = async () => {
    valueOf(await client.runSchedule({ params: { id: schedule.id } }));
    await followUntil(client, session.id, hasEnded);
  };
  const row = tab.locator(".session").filter({ hasText: "The tides" });
  await report();
  await row.getByTitle("Unread").waitFor();
  await row.getByRole("link").click();
  await tab.getByText("Noted.").waitFor();
  await tab.getByRole("button", { name: "New conversation" }).first().click();
  await row.and(tab.locator(":not(.open)")).waitFor();
  const looked = tab.waitForResponse((response) => response.url().endsWith("/api/schedules"));
  await report();
  await looked;
  await expect.poll(() => row.getByTitle("Unread").count()).toBe(0);
  expect(consoleErrors).toEqual([]);
});
