import type { Page } from "playwright-core";
import { chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import { openProviderServer } from "@holdfast/testing/host/providers/provider-server";
import { afterAll, expect, test } from "vitest";
import { valueOf } from "../served-host.ts";
import { answers, createPageRig, send, untilDone } from "./page-rig.ts";

/** A model behind the real provider client. What it was sent is in `requests`. */
const provider = await openProviderServer(({ path }) => {
  if (path.endsWith("/v1/models"))
    return { frames: ['{"object":"list","data":[{"id":"parrot","owned_by":"library"}]}'] };
  return path.endsWith("/chat/completions")
    ? { frames: chatFrames([{ text: "Aye." }]) }
    : { status: 404, frames: [] };
});
afterAll(() => provider[Symbol.asyncDispose]());

const rig = createPageRig({
  HOLDFAST_OLLAMA_BASE_URL: `${provider.url}/v1`,
  HOLDFAST_MODEL: "ollama/parrot",
});

/** The system prompt that this message was answered with. */
function promptBefore(text: string): string {
  const prompts = provider.requests.flatMap(({ body }) => {
    const { messages = [] } = (body ?? {}) as { messages?: readonly { content: string }[] };
    return messages.at(-1)?.content === text ? [messages[0]?.content ?? ""] : [];
  });
  expect(prompts).toHaveLength(1);
  return prompts[0] ?? "";
}

async function begin(tab: Page, text: string): Promise<void> {
  await send(tab, text);
  await untilDone(tab);
}

test("custom instructions that are saved on the page reach the model in new conversations and are in the context picture", async () => {
  const { tab, consoleErrors, openAnother } = await rig.openTab();
  await begin(tab, "Before there were any.");
  expect(promptBefore("Before there were any.")).not.toContain("rhymes");
  const settings = await openAnother("?settings=agent");
  const form = settings.getByRole("form", { name: "Custom instructions" });
  await form.getByLabel("Instructions").fill("Answer in rhymes.");
  await form.getByRole("button", { name: "Save" }).click();
  await settings.getByText("Saved. New conversations start with it.").waitFor();
  await send(tab, "Still in the first one.");
  await answers(tab).nth(1).waitFor();
  await untilDone(tab, 2);
  expect(promptBefore("Still in the first one.")).not.toContain("rhymes");
  const second = await openAnother();
  await begin(second, "In the second one.");
  expect(promptBefore("In the second one.")).toContain("Answer in rhymes.");
  await second.getByRole("button", { name: "Show context" }).click();
  const parts = second.getByRole("list", { name: "System prompt" });
  await parts.locator("summary").filter({ hasText: "Custom instructions" }).click();
  await parts.getByText("Answer in rhymes.", { exact: false }).waitFor();
  expect(consoleErrors).toEqual([]);
});

test("instructions that were changed elsewhere are not overwritten unseen, earlier ones come back, and all can be deleted", async () => {
  const write = async (text: string) => {
    const { version } = valueOf(await rig.client().readInstructions()).instructions;
    const headers = { "if-match": version };
    valueOf(await rig.client().changeInstructions({ headers, body: { text } }));
  };
  await write("");
  await write("Answer in rhymes.");
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=agent" });
  const form = tab.getByRole("form", { name: "Custom instructions" });
  const field = form.getByLabel("Instructions");
  await expect.poll(() => field.inputValue()).toBe("Answer in rhymes.");
  await field.fill("Answer in prose.");
  await write("Answer in riddles.");
  await form.getByRole("button", { name: "Save" }).click();
  await tab.getByText("changed elsewhere", { exact: false }).waitFor();
  expect(await field.inputValue()).toBe("Answer in prose.");
  await form.getByText("1 earlier text").waitFor();
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText("2 earlier texts").click();
  const earlier = form.getByRole("listitem").filter({ hasText: "Answer in rhymes." });
  await earlier.getByRole("button", { name: "Use this text" }).click();
  expect(await field.inputValue()).toBe("Answer in rhymes.");
  await form.getByRole("button", { name: "Delete" }).click();
  await tab.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await tab.getByText("Instructions deleted.").waitFor();
  expect(await field.inputValue()).toBe("");
  expect(valueOf(await rig.client().readInstructions()).instructions.versions).toEqual([]);
  expect(consoleErrors).toEqual([]);
});
