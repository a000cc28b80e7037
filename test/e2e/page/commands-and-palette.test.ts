import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { valueOf } from "../served-host.ts";
import { answers, createPageRig, messageField, send, sessionOf, untilDone } from "./page-rig.ts";

const rig = createPageRig();

test("slash commands complete, run, and are distinguished from messages", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, "one {words:6}");
  await untilDone(tab);
  await messageField(tab).fill("/un");
  const suggestions = tab.getByRole("listbox", { name: "Commands" });
  await suggestions.getByRole("option", { name: /\/undo/ }).waitFor();
  await tab.keyboard.press("Tab");
  expect(await messageField(tab).inputValue()).toBe("/undo ");
  await tab.keyboard.press("Enter");
  await tab.getByRole("article", { name: "You" }).waitFor({ state: "detached" });
  await send(tab, "/redo");
  await tab.getByRole("article", { name: "You" }).getByText("one").waitFor();

  await send(tab, "/usage");
  await tab.getByRole("dialog", { name: "Tokens and cost" }).getByText("All time").waitFor();
  await tab.keyboard.press("Escape");
  await send(tab, "/nonsense at all");
  await tab.getByText(/Unknown command \/nonsense/).waitFor();
  expect(await messageField(tab).inputValue()).toBe("/nonsense at all");
  await send(tab, "//help {words:2}");
  await tab.getByRole("article", { name: "You" }).getByText("/help", { exact: false }).waitFor();
  await untilDone(tab, 2);

  await send(tab, "/title Named by a command");
  await tab.locator(".talk-title").getByText("Named by a command").waitFor();
  const previousId = sessionOf(tab);
  await send(tab, "/new From a command");
  await tab.locator(".talk-title").getByText("From a command").waitFor();
  expect(sessionOf(tab)).not.toBe(previousId);
  expect(consoleErrors).toEqual([]);
});

test("the palette finds sessions and commands by a few letters", async () => {
  valueOf(await rig.client().createSession({ body: { title: "Found by letters" } }));
  const { tab } = await rig.openTab();
  await tab.getByRole("link", { name: /Found by letters/ }).waitFor();
  await tab.keyboard.press("Control+k");
  const field = tab.getByRole("combobox", { name: "Search and commands" });
  await field.fill("found let");
  await tab.getByRole("option", { name: "Found by letters" }).waitFor();
  await tab.keyboard.press("Enter");
  await tab.locator(".talk-title").getByText("Found by letters").waitFor();
  await tab.keyboard.press("Control+k");
  // What can be done with the open conversation comes first.
  await tab.getByRole("option").nth(1).getByText("Find in conversation").waitFor();
  await field.fill("theme dark");
  await tab.keyboard.press("Enter");
  expect(await tab.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
  await tab.reload();
  expect(await tab.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
  await tab.locator(".talk-title").getByText("Found by letters").waitFor();
  await tab.keyboard.press("Control+Shift+O");
  await tab.getByRole("heading", { name: "What can I help with?" }).waitFor();
  expect(new URL(tab.url()).searchParams.get("from")).toMatch(/^ses_/);
});

test("the context panel shows the context window and each turn's cache share", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "weigh this {words:60}");
  await untilDone(tab);
  await tab.getByRole("button", { name: "Show context" }).click();
  const panel = tab.getByRole("complementary", { name: "Context" });
  await panel.getByRole("img", { name: "Context window usage" }).waitFor();
  await panel.getByText("Answers", { exact: true }).waitFor();
  await panel.getByRole("img", { name: "Cached share over 1 turns" }).waitFor();
  await panel.getByRole("button", { name: "Close" }).click();
  await panel.waitFor({ state: "detached" });
  expect(await answers(tab).count()).toBe(1);
});

test("the system settings show health, check the store, make a checked backup and export everything", async () => {
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=system" });
  await tab.getByText("Holdfast 0.1.0").waitFor();
  await tab.getByRole("button", { name: "Check now" }).click();
  await tab.getByText(/No problems found in [\d,]+ events/).waitFor();
  await tab.getByRole("button", { name: "Back up now" }).click();
  await tab.getByText(/^Backup .* created and checked/).waitFor();
  await tab.getByText(/^Last verified backup: /).waitFor();
  const written = tab.waitForEvent("download");
  await tab.getByRole("link", { name: "For another Holdfast (JSON lines)" }).click();
  const lines = readFileSync(await (await written).path(), "utf8")
    .trimEnd()
    .split("\n");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ format: "holdfast.export", version: 1 });
  expect(lines.at(-1)).toMatch(/^{"kind":"end",.*"signature":"[\w-]{86}"}$/);
  await tab.getByText("this browser", { exact: false }).waitFor();
  await tab.getByRole("link", { name: "Memory" }).click();
  await tab.getByRole("heading", { name: "Waiting to be remembered" }).waitFor();
  await tab.getByRole("link", { name: "Tools and approvals" }).click();
  await tab.getByText("Nothing needs your approval.").waitFor();
  await tab.goBack();
  await tab.getByRole("heading", { name: "Memory", exact: true }).waitFor();
  expect(consoleErrors).toEqual([]);
});
