import { anthropicFrames, chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import { openProviderServer } from "@holdfast/testing/host/providers/provider-server";
import { afterAll, expect, test } from "vitest";
import { valueOf } from "../served-host.ts";
import { answers, createPageRig, send, sessionOf } from "./page-rig.ts";

const goodKey = "key-that-the-provider-knows";

/** Knows one key, and revokes it when a test says so. */
let isRevoked = false;
const provider = await openProviderServer(({ headers, path }) => {
  if (isRevoked || headers["x-api-key"] !== goodKey)
    return { status: 401, frames: ['{"error":{"message":"invalid x-api-key"}}'] };
  if (path.endsWith("/models")) return { frames: ['{"data":[]}'] };
  return { frames: anthropicFrames([{ text: "Hello from the provider." }]) };
});
/** Ollama, as it answers on its own machine. */
const ollama = await openProviderServer(({ path }) => {
  if (path.endsWith("/v1/models"))
    return { frames: ['{"object":"list","data":[{"id":"qwen3:8b","owned_by":"library"}]}'] };
  return path.endsWith("/chat/completions")
    ? { frames: chatFrames([{ text: "Hello from the next room." }]) }
    : { status: 404, frames: [] };
});
afterAll(async () => {
  await provider[Symbol.asyncDispose]();
  await ollama[Symbol.asyncDispose]();
});

const rig = createPageRig({
  HOLDFAST_ANTHROPIC_BASE_URL: `${provider.url}/v1`,
  HOLDFAST_OLLAMA_BASE_URL: `${ollama.url}/v1`,
});

test("a local server is offered on the first page, and becomes the default with one click", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await tab.getByText("Ollama is running on this computer.").waitFor();
  await tab.getByRole("button", { name: "Use qwen3:8b" }).click();
  await tab.getByText("Default model changed.", { exact: false }).waitFor();
  expect(valueOf(await rig.client().listModels()).usual).toBe("ollama/qwen3:8b");
  await send(tab, "Anybody there?");
  await answers(tab).getByText("Hello from the next room.").waitFor();
  valueOf(await rig.client().deleteSetting({ params: { name: "model" } }));
  expect(consoleErrors).toEqual([]);
});

test("a key that the provider rejects is not stored, and one that it accepts turns green", async () => {
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=models" });
  const card = tab.locator(".settings-card").filter({ hasText: "Anthropic" });
  const field = card.getByLabel("Key for Anthropic");
  await field.fill("a-bogus-key");
  await card.getByRole("button", { name: "Save" }).click();
  await tab.getByText("API key rejected", { exact: false }).waitFor();
  await card.getByText("no key").waitFor();
  expect(await card.locator(".dot.off").count()).toBe(1);
  await field.fill(goodKey);
  await card.getByRole("button", { name: "Save" }).click();
  await tab.getByText("Key verified and saved.").waitFor();
  await card.getByText("key stored, verified").waitFor();
  expect(await card.locator(".dot.off, .dot.warn").count()).toBe(0);
  expect(consoleErrors).toEqual([]);
});

test("a model is found by typing, chosen with its effort, and made the default", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  const picker = tab.getByRole("button", { name: /\. Model$/ });
  await picker.click();
  const menu = tab.getByRole("dialog", { name: "Model" });
  await menu.getByRole("group", { name: "Anthropic" }).waitFor();
  await menu.getByLabel("Search models").fill("opus 5.5");
  const opus = menu.getByRole("menuitemradio", { name: /^Claude Opus 5\.5/ });
  expect(await menu.getByRole("menuitemradio").count()).toBe(1);
  expect(await opus.textContent()).toContain("1M tokens · $4 in, $20 out per M · sees images");
  await opus.click();
  await tab.getByRole("button", { name: "Claude Opus 5.5. Model" }).click();
  await menu
    .getByRole("group", { name: "Reasoning effort" })
    .getByRole("menuitemradio", { name: "High" })
    .click();
  await picker.click();
  await menu.getByRole("menuitem", { name: "Make Claude Opus 5.5 the default" }).click();
  await tab.getByText("Default model changed.", { exact: false }).waitFor();
  const { usual, models } = valueOf(await rig.client().listModels());
  expect(usual).toBe("anthropic/claude-opus-5-5");
  expect(models.find(({ name }) => name === usual)).toMatchObject({ effort: "high" });
  await send(tab, "Hello?");
  await answers(tab).getByText("Hello from the provider.").waitFor();
  const asked = provider.requests.find(({ path }) => path.endsWith("/messages"));
  expect(asked?.body).toMatchObject({ output_config: { effort: "high" } });
  await tab.getByRole("button", { name: /^Context \d+% full/ }).click();
  await tab.getByRole("complementary", { name: "Context" }).waitFor();
  const { session } = valueOf(await rig.client().readSession({ params: { id: sessionOf(tab) } }));
  expect(session.model).toBe("anthropic/claude-opus-5-5");
  expect(consoleErrors).toEqual([]);
});

test("a run that the provider rejects says so, and leads to the settings, where the key is not green", async () => {
  isRevoked = true;
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, "Still there?");
  await tab.getByText("API key rejected.", { exact: true }).waitFor();
  await tab.getByRole("button", { name: "Open model settings" }).click();
  const card = tab.locator(".settings-card").filter({ hasText: "Anthropic" });
  await card.getByText("key stored, API key rejected").waitFor();
  expect(await card.locator(".dot.warn").count()).toBe(1);
  expect(consoleErrors).toEqual([]);
});
