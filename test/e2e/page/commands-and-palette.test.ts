import { expect, test } from "vitest";
import { answers, createPageRig, messageField, say, sessionOf, untilDone } from "./page-rig.ts";

const rig = createPageRig();

test("commands are completed as they are typed, carried out, and told apart from words", async () => {
  const { tab, complaints } = await rig.openTab();
  await say(tab, "one {words:6}");
  await untilDone(tab);
  await messageField(tab).fill("/un");
  const offered = tab.getByRole("listbox", { name: "Commands" });
  await offered.getByRole("option", { name: /\/undo/ }).waitFor();
  await tab.keyboard.press("Tab");
  expect(await messageField(tab).inputValue()).toBe("/undo ");
  await tab.keyboard.press("Enter");
  await tab.getByRole("article", { name: "You" }).waitFor({ state: "detached" });
  await say(tab, "/redo");
  await tab.getByRole("article", { name: "You" }).getByText("one").waitFor();

  await say(tab, "/usage");
  await tab.getByRole("dialog", { name: "Tokens and cost" }).getByText("Ever").waitFor();
  await tab.keyboard.press("Escape");
  await say(tab, "/nonsense at all");
  await tab.getByText(/There is no command \/nonsense/).waitFor();
  expect(await messageField(tab).inputValue()).toBe("/nonsense at all");
  await say(tab, "//help {words:2}");
  await tab.getByRole("article", { name: "You" }).getByText("/help", { exact: false }).waitFor();
  await untilDone(tab, 2);

  await say(tab, "/title Named by a command");
  await tab.locator(".talk-title").getByText("Named by a command").waitFor();
  const left = sessionOf(tab);
  await say(tab, "/new From a command");
  await tab.locator(".talk-title").getByText("From a command").waitFor();
  expect(sessionOf(tab)).not.toBe(left);
  expect(complaints).toEqual([]);
});

test("the palette goes anywhere by a few letters", async () => {
  const { tab } = await rig.openTab();
  await tab.getByRole("link", { name: /Named by a command/ }).waitFor();
  await tab.keyboard.press("Control+k");
  const field = tab.getByRole("combobox", { name: "Search and commands" });
  await field.fill("named com");
  await tab.getByRole("option", { name: "Named by a command" }).waitFor();
  await tab.keyboard.press("Enter");
  await tab.locator(".talk-title").getByText("Named by a command").waitFor();
  await tab.keyboard.press("Control+k");
  await field.fill("theme dark");
  await tab.keyboard.press("Enter");
  expect(await tab.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
  await tab.reload();
  expect(await tab.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
  await tab.locator(".talk-title").getByText("Named by a command").waitFor();
  await tab.keyboard.press("Control+Shift+O");
  await tab.getByRole("heading", { name: "Conversations that hold" }).waitFor();
  expect(new URL(tab.url()).searchParams.get("from")).toMatch(/^ses_/);
});

test("what the model gets is drawn to scale, with every turn's share of the cache", async () => {
  const { tab } = await rig.openTab();
  await say(tab, "weigh this {words:60}");
  await untilDone(tab);
  await tab.getByRole("button", { name: "Show what the model gets" }).click();
  const panel = tab.getByRole("complementary", { name: "What the model gets" });
  await panel.getByRole("img", { name: "The window and what fills it" }).waitFor();
  await panel.getByText("Answers").waitFor();
  await panel.getByRole("img", { name: "Share that was kept, over 1 turns" }).waitFor();
  await panel.getByRole("button", { name: "Close" }).click();
  await panel.waitFor({ state: "detached" });
  expect(await answers(tab).count()).toBe(1);
});

test("the settings show what the host answers, prove the store and make a backup", async () => {
  const { tab, complaints } = await rig.openTab({ at: "?settings=system" });
  await tab.getByText("Holdfast 0.1.0").waitFor();
  await tab.getByRole("button", { name: "Prove it now" }).click();
  await tab.getByText(/Everything follows: [\d,]+ events/).waitFor();
  await tab.getByRole("button", { name: "Make a backup" }).click();
  await tab.getByText(/^Backup .* is made/).waitFor();
  await tab.getByText("this one", { exact: false }).waitFor();
  await tab.getByRole("link", { name: "Memory" }).click();
  await tab.getByRole("heading", { name: "Tokens and cost" }).waitFor();
  await tab.getByRole("link", { name: "Tools and approvals" }).click();
  await tab.getByText("Nothing waits for your word.").waitFor();
  await tab.goBack();
  await tab.getByRole("heading", { name: "Memory", exact: true }).waitFor();
  expect(complaints).toEqual([]);
});
