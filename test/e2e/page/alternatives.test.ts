import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { shownMessages } from "./compare-messages.ts";
import { createPageRig, expectShownIsStored, send, sessionOf, untilDone } from "./page-rig.ts";

const rig = createPageRig();

const question = (tab: Page): Locator => tab.getByRole("article", { name: "You" }).first();
const versions = (tab: Page, label: string): Locator =>
  question(tab).getByRole("group", { name: label });
const turn = (tab: Page, to: "Previous version" | "Next version"): Promise<void> =>
  question(tab).getByRole("button", { name: to }).click();
/** The first message of the conversation reads so. */
const untilAsked = (tab: Page, text: string): Promise<void> =>
  question(tab).getByText(text, { exact: true }).waitFor();

async function openEditor(tab: Page): Promise<Locator> {
  await question(tab).hover();
  await question(tab).getByRole("button", { name: "Edit" }).click();
  return tab.getByRole("textbox", { name: "Edited text" });
}

async function chooseInMenu(tab: Page, name: string): Promise<void> {
  await tab
    .locator(".talk-bar")
    .getByRole("button", { name: /^Actions for/ })
    .click();
  await tab.getByRole("menuitem", { name, exact: true }).click();
}

const undo = (tab: Page): Promise<void> => chooseInMenu(tab, "Undo last turn");

async function redo(tab: Page): Promise<void> {
  await chooseInMenu(tab, "Redo");
}

/** A conversation whose first message was edited twice. */
async function openEdited() {
  const opened = await rig.openTab();
  const { tab } = opened;
  await send(tab, "one {words:8}");
  await untilDone(tab);
  for (const text of ["two {words:9}", "three {words:10}"]) {
    await (await openEditor(tab)).fill(text);
    await tab.getByRole("button", { name: "Send edit" }).click();
    await untilAsked(tab, text);
    await untilDone(tab);
  }
  return opened;
}

test("[P13] an edited message keeps its versions: they can be switched, undone and redone, survive a reload, and another tab follows", async () => {
  const { tab, consoleErrors, openAnother } = await openEdited();
  const other = await openAnother(`?session=${sessionOf(tab)}`);
  await versions(other, "Version 3 of 3").waitFor();
  const third = await shownMessages(tab);
  expect(await question(tab).getByRole("button", { name: "Next version" }).isDisabled()).toBe(true);
  await turn(tab, "Previous version");
  await untilAsked(tab, "two {words:9}");
  await turn(tab, "Previous version");
  await untilAsked(tab, "one {words:8}");
  await versions(tab, "Version 1 of 3").waitFor();
  await expectShownIsStored(tab, rig.client());
  await untilAsked(other, "one {words:8}");
  expect(await shownMessages(other)).toEqual(await shownMessages(tab));

  await tab.reload();
  await versions(tab, "Version 1 of 3").waitFor();
  for (const text of ["two {words:9}", "three {words:10}"]) {
    await turn(tab, "Next version");
    await untilAsked(tab, text);
  }
  expect(await shownMessages(tab)).toEqual(third);
  await undo(tab);
  await versions(tab, "Version 2 of 3").waitFor();
  await undo(tab);
  await versions(tab, "Version 1 of 3").waitFor();
  await undo(tab);
  await question(tab).waitFor({ state: "detached" });
  for (const label of ["Version 1 of 3", "Version 2 of 3", "Version 3 of 3"]) {
    await redo(tab);
    await versions(tab, label).waitFor();
  }
  await versions(other, "Version 3 of 3").waitFor();
  expect(await shownMessages(tab)).toEqual(third);
  await expectShownIsStored(tab, rig.client());
  expect(consoleErrors).toEqual([]);
});

test("a message is edited in its place: Escape cancels, Enter sends, and a retry makes a version too", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "first {words:8}");
  await untilDone(tab);
  const size = await question(tab)
    .locator(".as-written")
    .evaluate((text) => getComputedStyle(text).fontSize);
  const field = await openEditor(tab);
  expect(await field.evaluate((text) => getComputedStyle(text).fontSize)).toBe(size);
  expect(await tab.getByRole("dialog").count()).toBe(0);
  await field.fill("never sent");
  await field.press("Escape");
  await untilAsked(tab, "first {words:8}");
  const edited = await openEditor(tab);
  await edited.fill("second {words:9}");
  await edited.press("Shift+Enter");
  await edited.pressSequentially("below");
  expect(await edited.inputValue()).toBe("second {words:9}\nbelow");
  await edited.press("Enter");
  await untilAsked(tab, "second {words:9}\nbelow");
  await untilDone(tab);
  await tab.getByRole("button", { name: "Show context" }).click();
  await tab.getByText("Earlier messages changed because a message was edited.").waitFor();
  await tab.getByRole("button", { name: "Close" }).click();
  await tab.getByRole("article", { name: "Assistant" }).hover();
  await tab.getByRole("button", { name: "Retry", exact: true }).click();
  await versions(tab, "Version 3 of 3").waitFor();
  await untilDone(tab);
  await question(tab).getByRole("button", { name: "Previous version" }).press("Enter");
  await versions(tab, "Version 2 of 3").waitFor();
  // The keyboard stays where it was, although the buttons are those of another message.
  await expect.poll(() => versions(tab, "Version 2 of 3").locator("button:focus").count()).toBe(1);
  await expectShownIsStored(tab, rig.client());
});

test("a search finds a version out of view, says so, and shows that version at the match", async () => {
  const { tab, consoleErrors } = await openEdited();
  const id = sessionOf(tab);
  await tab.getByRole("searchbox").fill("one words:8");
  const hit = tab.locator(`.hit[href*="${id}"]`, { hasText: "Other version" });
  await hit.waitFor();
  await hit.click();
  await untilAsked(tab, "three {words:10}");
  await tab.getByRole("button", { name: "Show that version" }).click();
  await untilAsked(tab, "one {words:8}");
  await versions(tab, "Version 1 of 3").waitFor();
  await tab.getByRole("button", { name: "Show that version" }).waitFor({ state: "detached" });
  expect(new URL(tab.url()).search).toMatch(new RegExp(`^\\?session=${id}&at=\\d+$`));
  expect(consoleErrors).toEqual([]);
});
