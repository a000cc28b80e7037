import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { valueOf } from "../served-host.ts";
import { importConversation } from "./long-conversation.ts";
import { answers, createPageRig, messageField, send, stopButton, untilDone } from "./page-rig.ts";

const rig = createPageRig();

/** The texts that the page marks as found. */
const markedTexts = (tab: Page): Promise<string[]> =>
  tab.evaluate(() => [...(CSS.highlights.get("found") ?? [])].map(String));

test("Escape closes a panel first, and then stops the answer", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "A long one {rate:20} {words:9000}");
  await stopButton(tab).waitFor();
  await tab.getByRole("button", { name: "Show context" }).click();
  const panel = tab.getByRole("complementary", { name: "Context" });
  await panel.waitFor();
  await messageField(tab).focus();
  await tab.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  expect(await stopButton(tab).count()).toBe(1);
  await tab.keyboard.press("Escape");
  await tab.getByText("Stopped. The partial answer is saved.").waitFor();
});

test("the arrow up in an empty field edits the last message", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "The first words {words:4}");
  await untilDone(tab);
  await messageField(tab).first().focus();
  await tab.keyboard.press("ArrowUp");
  await expect
    .poll(() => tab.locator("textarea").evaluateAll((all) => all.map((field) => field.textContent)))
    .toContain("The first words {words:4}");
});

test("the keys for approvals answer the call that waits", async () => {
  const { tab } = await rig.openTab();
  await send(tab, '{tool:terminal {"command":["printf","kelp"]}}');
  const allow = tab.getByRole("button", { name: "Allow once" });
  await expect.poll(() => allow.isEnabled()).toBe(true);
  await messageField(tab).focus();
  await tab.keyboard.press("Alt+y");
  await answers(tab).getByText("The tool terminal answered “kelp”.").waitFor();
  await send(tab, '{tool:terminal {"command":["printf","dulse"]}}');
  await allow.waitFor();
  await tab.keyboard.press("Alt+n");
  await answers(tab).getByText("A person did not allow this").waitFor();
  expect(await messageField(tab).inputValue()).toBe("");
});

test("a question mark shows every key, but not while somebody writes", async () => {
  const { tab } = await rig.openTab();
  await messageField(tab).fill("Why");
  await messageField(tab).press("End");
  await tab.keyboard.press("?");
  expect(await messageField(tab).inputValue()).toBe("Why?");
  await messageField(tab).fill("");
  await tab.keyboard.press("?");
  const dialog = tab.getByRole("dialog", { name: "Keyboard shortcuts" });
  await dialog.getByText("Edit your last message", { exact: false }).waitFor();
  await tab.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await messageField(tab).inputValue()).toBe("");
});

test("find goes through the whole conversation, also where it is not loaded, and marks what it finds", async () => {
  const texts = Array.from({ length: 400 }, (_, n) =>
    n === 4 ? "The heron is here" : n === 380 ? "Another Heron" : `Message ${n}`,
  );
  const id = await importConversation(rig.client(), "Long", texts);
  const { tab } = await rig.openTab({ at: `?session=${id}`, reducedMotion: "reduce" });
  await answers(tab).last().waitFor();
  await tab.keyboard.press("Control+f");
  const bar = tab.getByRole("search", { name: "Find in conversation" });
  await tab.keyboard.type("heron");
  await bar.getByText("2 of 2 messages").waitFor();
  await tab.getByRole("article", { name: "You" }).getByText("Another Heron").waitFor();
  await expect.poll(() => markedTexts(tab)).toContain("Heron");
  await tab.keyboard.press("Enter");
  await bar.getByText("1 of 2 messages").waitFor();
  await tab.getByRole("article", { name: "You" }).getByText("The heron is here").waitFor();
  await expect.poll(() => markedTexts(tab)).toContain("heron");
  await tab.keyboard.press("Shift+Enter");
  await bar.getByText("2 of 2 messages").waitFor();
  await tab.keyboard.press("Escape");
  await bar.waitFor({ state: "detached" });
  expect(await markedTexts(tab)).toEqual([]);
});

test("the palette finds what was said, and marks it where it leads", async () => {
  const said = "An **oystercatcher** was seen.";
  await importConversation(rig.client(), "Birds", ["What was seen?", said]);
  const { tab } = await rig.openTab();
  await messageField(tab).waitFor();
  await tab.keyboard.press("Control+k");
  await tab.getByRole("combobox", { name: "Search and commands" }).fill("oystercatcher");
  const hit = tab.getByRole("option", { name: /Birds/ });
  await hit.getByText("An oystercatcher was seen", { exact: false }).waitFor();
  await hit.click();
  await tab.locator(".linked").getByText("oystercatcher", { exact: false }).waitFor();
  await expect.poll(() => markedTexts(tab)).toContain("oystercatcher");
});

test("the palette acts on the open conversation", async () => {
  const id = await importConversation(rig.client(), "To be pinned", ["Hello", "Hello"]);
  const { tab } = await rig.openTab({ at: `?session=${id}` });
  await answers(tab).first().waitFor();
  await tab.keyboard.press("Control+k");
  await tab.getByRole("combobox", { name: "Search and commands" }).fill("pin");
  await tab.getByRole("option", { name: "Pin", exact: true }).click();
  await expect
    .poll(async () => valueOf(await rig.client().readSession({ params: { id } })).session.pinned)
    .toBe(true);
});

test("Back leads to the place where the conversation was left", async () => {
  const texts = Array.from({ length: 80 }, (_, n) => `Turn ${n} `.repeat(40));
  const id = await importConversation(rig.client(), "Left", texts);
  const { tab } = await rig.openTab({ at: `?session=${id}`, reducedMotion: "reduce" });
  await answers(tab).last().waitFor();
  const log = tab.getByRole("log");
  const read = tab.getByRole("article", { name: "You" }).getByText("Turn 40 ", { exact: false });
  await expect
    .poll(async () => {
      await log.evaluate((box) => box.scrollBy(0, -200));
      return (await read.count()) > 0 && (await read.isVisible());
    })
    .toBe(true);
  await read.scrollIntoViewIfNeeded();
  await tab.getByRole("button", { name: "Settings" }).click();
  await tab.getByRole("heading", { name: "Settings" }).first().waitFor();
  await tab.goBack();
  await answers(tab).first().waitFor();
  await expect.poll(async () => (await read.count()) > 0 && (await read.isVisible())).toBe(true);
  expect(await tab.getByText("Turn 79 ", { exact: false }).count()).toBe(0);
});
