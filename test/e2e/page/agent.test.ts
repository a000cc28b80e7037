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
    // The time follows what was written.
    const [written] = (messages.at(-1)?.content ?? "").split("\n\n[time: ");
    return written === text ? [messages[0]?.content ?? ""] : [];
  });
  expect(prompts).toHaveLength(1);
  return prompts[0] ?? "";
}

async function begin(tab: Page, text: string): Promise<void> {
  await send(tab, text);
  await untilDone(tab);
}

test("guidance that is changed on the page reaches the model in new conversations, until it is reset", async () => {
  const { tab, consoleErrors, openAnother } = await rig.openTab();
  const settings = await openAnother("?settings=agent");
  await settings.locator("summary").filter({ hasText: "Working on this host" }).click();
  const form = settings.getByRole("form", { name: "Working on this host" });
  const builtIn = await form.getByLabel("Working on this host").inputValue();
  await form.getByLabel("Working on this host").fill("- Whisper.");
  await form.getByRole("button", { name: "Save" }).click();
  await settings.getByText("Saved. New conversations start with this text.").waitFor();
  await begin(tab, "Is it quiet?");
  expect(promptBefore("Is it quiet?")).toContain("[How to work on this host]\n- Whisper.");
  await form.getByRole("button", { name: "Use the built-in text" }).click();
  await settings.getByText("Reset. New conversations start with the built-in text.").waitFor();
  const second = await openAnother();
  await begin(second, "Is it loud?");
  expect(promptBefore("Is it loud?")).toContain(builtIn);
  await second.getByRole("button", { name: "Show context" }).click();
  const parts = second.getByRole("list", { name: "System prompt" });
  await parts.locator("summary").filter({ hasText: "Using the tools" }).click();
  await parts.getByText("Read a file before you change it", { exact: false }).waitFor();
  expect(consoleErrors).toEqual([]);
});

test("the model is told the time of each message in the chosen zone, and the page does not repeat it", async () => {
  const { tab, consoleErrors, openAnother } = await rig.openTab();
  const settings = await openAnother("?settings=agent");
  await settings.getByLabel("Time zone").selectOption("Pacific/Auckland");
  await settings.getByText("Saved.", { exact: true }).waitFor();
  await begin(tab, "What time is it?");
  const sent = provider.requests.map(({ body }) => JSON.stringify(body)).join("\n");
  expect(sent).toMatch(
    /What time is it\?\\n\\n\[time: material from the host, not a request\]\\n> \w+day, \d+ \w+ \d{4}, \d\d:\d\d \(Pacific\/Auckland\)/u,
  );
  expect(await tab.locator("main").innerText()).not.toContain("Auckland");
  expect(consoleErrors).toEqual([]);
});

test("custom instructions that are saved on the page reach the model in new conversations and are listed in the context panel", async () => {
  const { tab, consoleErrors, openAnother } = await rig.openTab();
  await begin(tab, "Before there were any.");
  expect(promptBefore("Before there were any.")).not.toContain("rhymes");
  const settings = await openAnother("?settings=agent");
  const form = settings.getByRole("form", { name: "Custom instructions" });
  await form.getByLabel("Instructions").fill("Answer in rhymes.");
  await form.getByRole("button", { name: "Save" }).click();
  await settings.getByText("Saved. New conversations start with this text.").waitFor();
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

test("a persona is created on the page, begins a conversation, and another one is chosen in its menu", async () => {
  const { tab, consoleErrors, openAnother } = await rig.openTab({ at: "?settings=agent" });
  const add = async (name: string, text: string) => {
    await tab.getByRole("button", { name: "Add a persona" }).click();
    const form = tab.getByRole("form", { name: "Add a persona" });
    await form.getByLabel("Name").fill(name);
    await form.getByLabel("Text").fill(text);
    await form.getByRole("button", { name: "Save" }).click();
    await tab.getByRole("button", { name: `Edit ${name}` }).waitFor();
  };
  await add("Pilot", "You are a pilot.");
  await add("Sailor", "You are a sailor.");
  const talk = await openAnother();
  await talk.getByRole("button", { name: "Default. Persona for the new conversation" }).click();
  await talk.getByRole("menuitemradio", { name: /^Pilot/ }).click();
  await begin(talk, "Who flies?");
  expect(promptBefore("Who flies?")).toContain("You are a pilot.");
  await talk
    .locator(".talk-bar")
    .getByRole("button", { name: /^Actions for / })
    .click();
  await talk.getByRole("menuitem", { name: "Persona…" }).click();
  await talk.getByRole("dialog").getByRole("button", { name: "Pilot (current)" }).waitFor();
  await talk.getByRole("dialog").getByRole("button", { name: "Sailor" }).click();
  await talk.getByText("Persona changed.", { exact: false }).waitFor();
  await send(talk, "Who sails?");
  await untilDone(talk, 2);
  expect(promptBefore("Who sails?")).toContain("You are a sailor.");
  await send(talk, "/persona pilot");
  await send(talk, "Who flies again?");
  await untilDone(talk, 3);
  expect(promptBefore("Who flies again?")).toContain("You are a pilot.");
  expect(consoleErrors).toEqual([]);
});

test("a persona that is the default begins conversations, and one that is deleted leaves its own to the default", async () => {
  const { client } = rig;
  const { persona } = valueOf(
    await client().addPersona({ body: { name: "Cook", text: "You are a cook." } }),
  );
  const { tab, consoleErrors, openAnother } = await rig.openTab({ at: "?settings=agent" });
  await tab.getByRole("button", { name: "Make default: Cook" }).click();
  await tab.getByText("Cook is now the default.").waitFor();
  const talk = await openAnother();
  await begin(talk, "What is for dinner?");
  expect(promptBefore("What is for dinner?")).toContain("You are a cook.");
  await tab.getByRole("button", { name: "Edit Cook" }).click();
  const form = tab.getByRole("form", { name: "Edit Cook" });
  await form.getByLabel("Text").fill("You are a baker.");
  await form.getByRole("button", { name: "Save" }).click();
  await tab.getByText("1 earlier text").waitFor();
  await send(talk, "And for breakfast?");
  await untilDone(talk, 2);
  expect(promptBefore("And for breakfast?")).toContain("You are a baker.");
  await tab.getByRole("button", { name: "Delete Cook" }).click();
  await tab.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await tab.getByText("Persona deleted.").waitFor();
  await send(talk, "And for lunch?");
  await untilDone(talk, 3);
  expect(promptBefore("And for lunch?")).toContain("You are a capable, careful assistant");
  const { personas } = valueOf(await client().listPersonas());
  expect(personas.some(({ id }) => id === persona.id)).toBe(false);
  expect(consoleErrors).toEqual([]);
});

test("a project's conversations start with its instructions, are found by it, and stay when it is deleted", async () => {
  const { tab, consoleErrors, openAnother } = await rig.openTab({ at: "?settings=agent" });
  await tab.getByRole("button", { name: "Add a project" }).click();
  const form = tab.getByRole("form", { name: "Add a project" });
  await form.getByLabel("Name").fill("Tides");
  await form.getByLabel("Instructions").fill("All times are UTC.");
  await form.getByLabel("Folder").fill("/etc");
  await form.getByRole("button", { name: "Save" }).click();
  await tab.getByText("workspace:", { exact: false }).waitFor();
  await form.getByLabel("Folder").fill("");
  await form.getByRole("button", { name: "Save" }).click();
  await tab.getByRole("button", { name: "Edit project Tides" }).waitFor();
  // The long form is gone: what was being looked at stays in view.
  const add = tab.getByRole("button", { name: "Add a project" });
  await expect.poll(() => add.evaluate((button) => button === document.activeElement)).toBe(true);
  await tab.getByRole("button", { name: /Filter conversations/ }).click();
  await tab.getByRole("menuitemradio", { name: "Tides" }).waitFor();
  await tab.keyboard.press("Escape");
  const talk = await openAnother();
  await talk.getByRole("button", { name: "No project. Project for the new conversation" }).click();
  await talk.getByRole("menuitemradio", { name: "Tides" }).click();
  await begin(talk, "When is high water?");
  expect(promptBefore("When is high water?")).toContain("All times are UTC.");
  await talk.getByRole("button", { name: "Show context" }).click();
  const parts = talk.getByRole("list", { name: "System prompt" });
  await parts.locator("summary").filter({ hasText: "Project instructions" }).waitFor();
  const outside = await openAnother();
  await begin(outside, "Who is outside?");
  expect(promptBefore("Who is outside?")).not.toContain("UTC");
  await outside.getByRole("button", { name: "Recent. Filter conversations" }).click();
  await outside.getByRole("menuitemradio", { name: "Tides" }).click();
  const listed = outside.getByRole("navigation", { name: "Conversations" });
  await expect.poll(() => listed.locator('a[href*="session="]').count()).toBe(1);
  await tab.getByRole("button", { name: "Delete project Tides" }).click();
  await tab.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await tab.getByText("Project deleted.").waitFor();
  await send(talk, "And low water?");
  await untilDone(talk, 2);
  expect(promptBefore("And low water?")).not.toContain("UTC");
  const { sessions } = valueOf(await rig.client().listSessions({ query: { project: "Tides" } }));
  expect(sessions).toHaveLength(1);
  expect(consoleErrors).toEqual([]);
});

test("[P13] a file is uploaded to a project, its conversations get the text, it is replaced only when asked, and deleted", async () => {
  const { tab, consoleErrors, openAnother } = await rig.openTab({ at: "?settings=agent" });
  valueOf(await rig.client().addProject({ body: { name: "Harbour" } }));
  await tab.reload();
  await tab.getByRole("button", { name: "Edit project Harbour" }).click();
  const chooseFile = (text: string, name = "tides.md") =>
    tab
      .getByLabel("Files", { exact: true })
      .setInputFiles({ name, mimeType: "text/markdown", buffer: Buffer.from(text) });
  await chooseFile("\0", "photo.png");
  await tab.getByText("neither text nor a PDF", { exact: false }).waitFor();
  await chooseFile("High water at noon.");
  const list = tab.getByRole("list", { name: "Files of Harbour" });
  await list.getByText("tides.md").waitFor();
  const talk = await openAnother();
  await talk.getByRole("button", { name: "No project. Project for the new conversation" }).click();
  await talk.getByRole("menuitemradio", { name: "Harbour" }).click();
  await begin(talk, "When is it high?");
  expect(promptBefore("When is it high?")).toContain("High water at noon.");
  await talk.getByRole("button", { name: "Show context" }).click();
  const parts = talk.getByRole("list", { name: "System prompt" });
  await parts.locator("summary").filter({ hasText: "Project files" }).click();
  await parts.getByText("High water at noon.", { exact: false }).waitFor();
  await chooseFile("High water at one.");
  await tab.getByRole("dialog").getByRole("button", { name: "Replace" }).click();
  await expect.poll(() => list.getByText("18 ", { exact: false }).count()).toBe(1);
  await send(talk, "And now?");
  await untilDone(talk, 2);
  expect(promptBefore("And now?")).toContain("High water at one.");
  await tab.getByRole("button", { name: "Delete file tides.md" }).click();
  await tab.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await tab.getByText("Deleted: tides.md").waitFor();
  await send(talk, "And after that?");
  await untilDone(talk, 3);
  expect(promptBefore("And after that?")).not.toContain("High water");
  expect(consoleErrors).toEqual([]);
});
