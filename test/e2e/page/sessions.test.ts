import { ids, type SessionId } from "@holdfast/protocol";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { shownMessages } from "./compare-messages.ts";
import { answers, createPageRig, send, sessionOf, stopButton } from "./page-rig.ts";

const rig = createPageRig();
const list = (tab: Page) => tab.getByRole("navigation", { name: "Conversations" });
const row = (tab: Page, name: string | RegExp) => list(tab).getByRole("link", { name });

/** Creates a session with a title and, if given, a first message. */
async function createSession(title: string, text?: string): Promise<SessionId> {
  const created = await rig.client().createSession({ body: { title } });
  if (!created.ok) throw new Error(JSON.stringify(created.error));
  const { id } = created.value.session;
  if (text !== undefined)
    await rig
      .client()
      .sendMessage({ params: { id }, body: { clientId: ids.make("message"), text } });
  return id;
}

async function chooseAction(tab: Page, title: string, item: string): Promise<void> {
  await row(tab, title).hover();
  await list(tab)
    .getByRole("button", { name: `Actions for ${title}` })
    .click();
  await tab.getByRole("menuitem", { name: item, exact: true }).click();
}

async function openShelf(tab: Page, name: string): Promise<void> {
  await tab.getByRole("button", { name: "Filter conversations" }).click();
  await tab.getByRole("menuitemradio", { name }).click();
}

test("what several parts of the page show is asked for once when it opens", async () => {
  const { tab } = await rig.openTab();
  const asked: string[] = [];
  tab.on("request", (request) => {
    // What the tab still asks for before it is loaded again belongs to the page before.
    if (request.isNavigationRequest()) asked.length = 0;
    asked.push(new URL(request.url()).pathname);
  });
  const followed = tab.waitForRequest((request) => request.url().includes("/api/events"));
  await tab.reload();
  await followed;
  await tab.getByRole("button", { name: "Own folder. Folder" }).waitFor();
  await tab.waitForLoadState("load");
  const times = (path: string) => asked.filter((one) => one === path).length;
  expect([times("/api/projects"), times("/api/approvals"), times("/api/models")]).toEqual([
    1, 1, 1,
  ]);
});

test("sessions can be renamed, pinned, organised, archived, trashed and restored", async () => {
  await createSession("Alpha");
  await createSession("Beta");
  const { tab, consoleErrors } = await rig.openTab();
  await chooseAction(tab, "Alpha", "Rename");
  await tab.getByRole("textbox", { name: "Title" }).fill("Alpha renamed");
  await tab.keyboard.press("Enter");
  await row(tab, /Alpha renamed/).waitFor();

  await chooseAction(tab, "Beta", "Pin");
  await tab.getByRole("heading", { name: "Pinned" }).waitFor();
  await chooseAction(tab, "Beta", "Project and tags…");
  await tab.getByRole("textbox", { name: "Project" }).fill("Harbour");
  await tab.getByRole("textbox", { name: /^Tags/ }).fill("one, two, one");
  await tab.getByRole("button", { name: "Save" }).click();
  await openShelf(tab, "Harbour");
  await row(tab, /Alpha/).waitFor({ state: "detached" });
  await row(tab, /Beta/).waitFor();
  await openShelf(tab, "two");
  await row(tab, /Beta/).waitFor();

  await openShelf(tab, "Recent");
  await chooseAction(tab, "Alpha renamed", "Archive");
  await row(tab, /Alpha/).waitFor({ state: "detached" });
  await openShelf(tab, "Archived");
  await chooseAction(tab, "Alpha renamed", "Unarchive");
  await openShelf(tab, "Recent");
  await chooseAction(tab, "Alpha renamed", "Move to trash");
  await row(tab, /Alpha/).waitFor({ state: "detached" });
  await openShelf(tab, "Trash");
  await row(tab, /Alpha renamed/).click();
  await tab.getByText("This conversation is in the trash").waitFor();
  await tab.getByRole("main").getByRole("button", { name: "Restore" }).click();
  await tab.getByRole("textbox", { name: "Message" }).waitFor();
  await openShelf(tab, "Recent");
  await row(tab, /Alpha renamed/).waitFor();
  expect(consoleErrors).toEqual([]);
});

/**
 * Whether the page leaves a click to the browser, which then opens another tab. The browser is kept from doing so: a tab
 * in the background draws nothing, and headless Chromium does not always report it.
 */
async function isLeftToBrowser(tab: Page, click: () => Promise<void>): Promise<boolean> {
  await tab.evaluate(() => {
    const note = (event: Event): void => {
      document.documentElement.dataset["clickPrevented"] = String(event.defaultPrevented);
      event.preventDefault();
    };
    globalThis.addEventListener("click", note, { once: true });
  });
  await click();
  const prevented = () => document.documentElement.dataset["clickPrevented"];
  return (await tab.evaluate(prevented)) === "false";
}

test("search finds text as it is typed, and a hit opens at its message, however far up", async () => {
  const id = await createSession("The long one", "a needle-in-the-stack {words:3}");
  const client = rig.client();
  for (let turn = 0; turn < 60; turn++)
    await client.sendMessage({
      params: { id },
      body: { clientId: ids.make("message"), text: `hay ${turn} {words:1}` },
    });
  await expect
    .poll(async () => {
      const read = await client.readSession({ params: { id } });
      return read.ok ? read.value.inbox.length : -1;
    })
    .toBe(0);

  const { tab } = await rig.openTab({ at: `?session=${id}` });
  await tab.getByText("hay 59", { exact: false }).first().waitFor();
  expect(await tab.getByText("needle-in-the-stack").count()).toBe(0);
  await tab.getByRole("searchbox", { name: "Search conversations" }).fill("needle-in");
  const hit = list(tab).getByRole("link", { name: /needle-in-the-stack/ });
  await hit.waitFor();
  expect(await hit.locator("mark").allInnerTexts()).not.toEqual([]);
  expect(await isLeftToBrowser(tab, () => hit.click({ modifiers: ["Control"] }))).toBe(true);
  expect(new URL(tab.url()).search).toBe(`?session=${id}`);
  const other = await rig.openTab({ at: (await hit.getAttribute("href")) ?? "" });
  await other.tab.locator(".linked").getByText("needle-in-the-stack").waitFor();
  await hit.click();
  await tab.locator(".linked").getByText("needle-in-the-stack").waitFor();
  await tab.reload();
  await tab.locator(".linked").getByText("needle-in-the-stack").waitFor();
  await tab.getByRole("button", { name: "Jump to latest" }).click();
  await tab.getByText("hay 59", { exact: false }).first().waitFor();

  // Scrolling down from the hit shows every message up to the end.
  await tab.reload();
  await tab.locator(".linked").getByText("needle-in-the-stack").waitFor();
  const found = new Set<string>();
  await expect
    .poll(
      async () => {
        for (const text of await shownMessages(tab)) found.add(text.split(" {")[0] ?? "");
        await tab.locator(".entries").evaluate((box) => box.scrollBy(0, box.clientHeight));
        return found.has("hay 59");
      },
      { interval: 20 },
    )
    .toBe(true);
  const hay = Array.from({ length: 60 }, (_, turn) => `hay ${turn}`);
  expect(hay.filter((text) => !found.has(text))).toEqual([]);
});

test("the list marks running, waiting and unread sessions, and arrow keys move through it", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "open one {words:2}");
  await answers(tab).waitFor();
  await createSession("Runs", "{words:900} {rate:30}");
  const asks = await createSession("Asks", '{tool:terminal {"command":"true"}}');
  await row(tab, /Answering Runs/).waitFor();
  await row(tab, /Needs your approval Asks/).waitFor();
  // Sent after the question, so that it is listed above it.
  await createSession("News", "{words:3}");
  await row(tab, /Unread News/).waitFor();
  await row(tab, /News/).focus();
  await tab.keyboard.press("ArrowDown");
  await tab.locator("a:focus").getByText("Asks").waitFor();
  await tab.keyboard.press("Enter");
  await tab.getByRole("button", { name: "Allow once" }).waitFor();
  await tab.getByRole("button", { name: "Deny" }).click();
  // Events after the conversation is left would make it unread.
  const hasEnded = async () => {
    const read = await rig.client().readSession({ params: { id: asks } });
    return read.ok && typeof read.value.run?.endedAt === "number";
  };
  await expect.poll(hasEnded).toBe(true);
  await tab.locator(".strip .dot").waitFor({ state: "detached" });
  await row(tab, /Runs/).click();
  await stopButton(tab).click();
  await tab.getByText("Stopped here.").waitFor();
  expect(await row(tab, /Unread (News|Asks|Runs)/).count()).toBe(1);
});

test("a duplicate and an export contain the same text", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "exported {words:4}");
  await answers(tab).waitFor();
  await tab.locator(".strip .dot").waitFor({ state: "detached" });
  const originalId = sessionOf(tab);
  const download = tab.waitForEvent("download");
  await tab
    .locator(".talk-bar")
    .getByRole("button", { name: /^Actions for/ })
    .click();
  await tab.getByRole("menuitem", { name: "Export as Markdown" }).click();
  const file = await download;
  expect(file.suggestedFilename()).toMatch(/\.md$/);
  expect(readFileSync(await file.path(), "utf8")).toContain("exported {words:4}");
  await tab
    .locator(".talk-bar")
    .getByRole("button", { name: /^Actions for/ })
    .click();
  await tab.getByRole("menuitem", { name: "Duplicate" }).click();
  await tab.getByText("Conversation duplicated.").waitFor();
  expect(sessionOf(tab)).not.toBe(originalId);
  await tab.getByRole("article", { name: "You" }).getByText("exported {words:4}").waitFor();
});

test("selected sessions are tagged, exported, archived, trashed and restored together", async () => {
  for (const name of ["Heap one", "Heap two", "Heap three"]) await createSession(name);
  const { tab, consoleErrors } = await rig.openTab();
  const check = (name: string) => list(tab).getByRole("checkbox", { name: `Select ${name}` });
  const actionButton = (name: string) => list(tab).getByRole("button", { name, exact: true });
  async function selectTwo(): Promise<void> {
    await chooseAction(tab, "Heap one", "Select several…");
    await check("Heap two").check();
    await list(tab).getByText("2 selected").waitFor();
  }
  const originalBox = await row(tab, "Heap three").boundingBox();
  await selectTwo();
  // Selecting moves no row, and a hovered row keeps showing its time.
  const third = list(tab).getByTitle("Heap three", { exact: true });
  expect(await third.boundingBox()).toEqual(originalBox);
  await third.hover();
  await third.locator(".session-time").waitFor({ state: "visible" });
  await actionButton("Add a tag…").click();
  await tab.getByRole("textbox", { name: "Tag" }).fill("heap");
  await tab.getByRole("button", { name: "Save" }).click();
  await tab.getByText("2 conversations tagged “heap”.").waitFor();
  await selectTwo();
  const download = tab.waitForEvent("download");
  await actionButton("Export as Markdown").click();
  const text = readFileSync(await (await download).path(), "utf8");
  expect(text).toContain("Heap one");
  expect(text).toContain("Heap two");
  expect(text).not.toContain("Heap three");
  await selectTwo();
  await actionButton("Archive").click();
  await tab.getByText("2 conversations archived.").waitFor();
  await row(tab, /Heap (one|two)/)
    .first()
    .waitFor({ state: "detached" });
  await tab.getByRole("button", { name: "Undo" }).click();
  await row(tab, /Heap two/).waitFor();
  await selectTwo();
  await actionButton("Move to trash").click();
  await tab.getByText("2 conversations moved to trash.").waitFor();
  await openShelf(tab, "Trash");
  await selectTwo();
  await actionButton("Restore").click();
  await tab.getByText("2 conversations restored.").waitFor();
  await openShelf(tab, "Recent");
  await row(tab, /Heap two/).waitFor();
  await openShelf(tab, "heap");
  await expect.poll(() => row(tab, /Heap/).allInnerTexts()).toHaveLength(2);
  expect(await row(tab, /Heap three/).count()).toBe(0);
  expect(consoleErrors).toEqual([]);
});
