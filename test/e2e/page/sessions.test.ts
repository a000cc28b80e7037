import { ids, type SessionId } from "@holdfast/protocol";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answers, createPageRig, say, sessionOf, shown, stopButton } from "./page-rig.ts";

const rig = createPageRig();
const list = (tab: Page) => tab.getByRole("navigation", { name: "Conversations" });
const row = (tab: Page, name: string | RegExp) => list(tab).getByRole("link", { name });

/** A session with a title and, if told, one message that nobody answers for long. */
async function begin(title: string, text?: string): Promise<SessionId> {
  const made = await rig.client().createSession({ body: { title } });
  if (!made.ok) throw new Error(JSON.stringify(made.error));
  const { id } = made.value.session;
  if (text !== undefined)
    await rig
      .client()
      .sendMessage({ params: { id }, body: { clientId: ids.make("message"), text } });
  return id;
}

async function choose(tab: Page, title: string, item: string): Promise<void> {
  await row(tab, title).hover();
  await list(tab)
    .getByRole("button", { name: `Actions for ${title}` })
    .click();
  await tab.getByRole("menuitem", { name: item, exact: true }).click();
}

async function shelf(tab: Page, name: string): Promise<void> {
  await tab.getByRole("button", { name: "Which conversations are listed" }).click();
  await tab.getByRole("menuitemradio", { name }).click();
}

test("the list is kept in order: rename, pin, project and tags, archive, trash and back", async () => {
  await begin("Alpha");
  await begin("Beta");
  const { tab, complaints } = await rig.openTab();
  await choose(tab, "Alpha", "Rename");
  await tab.getByRole("textbox", { name: "Title" }).fill("Alpha renamed");
  await tab.keyboard.press("Enter");
  await row(tab, /Alpha renamed/).waitFor();

  await choose(tab, "Beta", "Pin");
  await tab.getByRole("heading", { name: "Pinned" }).waitFor();
  await choose(tab, "Beta", "Project and tags…");
  await tab.getByRole("textbox", { name: "Project" }).fill("Harbour");
  await tab.getByRole("textbox", { name: /^Tags/ }).fill("one, two, one");
  await tab.getByRole("button", { name: "Save" }).click();
  await shelf(tab, "Harbour");
  await row(tab, /Alpha/).waitFor({ state: "detached" });
  await row(tab, /Beta/).waitFor();
  await shelf(tab, "two");
  await row(tab, /Beta/).waitFor();

  await shelf(tab, "Recent");
  await choose(tab, "Alpha renamed", "Archive");
  await row(tab, /Alpha/).waitFor({ state: "detached" });
  await shelf(tab, "Archived");
  await choose(tab, "Alpha renamed", "Bring back from the archive");
  await shelf(tab, "Recent");
  await choose(tab, "Alpha renamed", "Move to trash");
  await row(tab, /Alpha/).waitFor({ state: "detached" });
  await shelf(tab, "Trash");
  await row(tab, /Alpha renamed/).click();
  await tab.getByText("This conversation is in the trash").waitFor();
  await tab.getByRole("main").getByRole("button", { name: "Restore" }).click();
  await tab.getByRole("textbox", { name: "Message" }).waitFor();
  await shelf(tab, "Recent");
  await row(tab, /Alpha renamed/).waitFor();
  expect(complaints).toEqual([]);
});

test("words are found as they are typed, and a hit opens at its message, however far up", async () => {
  const id = await begin("The long one", "a needle-in-the-stack {words:3}");
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
  const [beside] = await Promise.all([
    tab.context().waitForEvent("page"),
    hit.click({ modifiers: ["Control"] }),
  ]);
  await beside.locator(".named").getByText("needle-in-the-stack").waitFor();
  await beside.close();
  await hit.click();
  await tab.locator(".named").getByText("needle-in-the-stack").waitFor();
  await tab.reload();
  await tab.locator(".named").getByText("needle-in-the-stack").waitFor();
  await tab.getByRole("button", { name: "Go to the newest message" }).click();
  await tab.getByText("hay 59", { exact: false }).first().waitFor();

  // Downwards from the hit the conversation goes on without a hole, until it has met its end.
  await tab.reload();
  await tab.locator(".named").getByText("needle-in-the-stack").waitFor();
  const met = new Set<string>();
  await expect
    .poll(
      async () => {
        for (const text of await shown(tab)) met.add(text.split(" {")[0] ?? "");
        await tab.locator(".entries").evaluate((box) => box.scrollBy(0, box.clientHeight));
        return met.has("hay 59");
      },
      { interval: 20 },
    )
    .toBe(true);
  const hay = Array.from({ length: 60 }, (_, turn) => `hay ${turn}`);
  expect(hay.filter((text) => !met.has(text))).toEqual([]);
});

test("the list tells what runs, what needs a person and what is new, and the keyboard walks through it", async () => {
  const { tab } = await rig.openTab();
  await say(tab, "open one {words:2}");
  await answers(tab).waitFor();
  await begin("Runs", "{words:900} {rate:30}");
  const asks = await begin("Asks", '{tool:terminal {"command":"true"}}');
  await row(tab, /Answering Runs/).waitFor();
  await row(tab, /Waits for your word Asks/).waitFor();
  // Behind the question, so that it stands above it.
  await begin("News", "{words:3}");
  await row(tab, /Unread News/).waitFor();
  await row(tab, /News/).focus();
  await tab.keyboard.press("ArrowDown");
  await tab.locator("a:focus").getByText("Asks").waitFor();
  await tab.keyboard.press("Enter");
  await tab.getByRole("button", { name: "Allow once" }).waitFor();
  await tab.getByRole("button", { name: "Deny" }).click();
  // What is said of it after it was left would be unread.
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

test("a copy and an export hold the same words", async () => {
  const { tab } = await rig.openTab();
  await say(tab, "exported {words:4}");
  await answers(tab).waitFor();
  await tab.locator(".strip .dot").waitFor({ state: "detached" });
  const from = sessionOf(tab);
  const download = tab.waitForEvent("download");
  await tab
    .locator(".talk-bar")
    .getByRole("button", { name: /^Actions for/ })
    .click();
  await tab.getByRole("menuitem", { name: "As Markdown" }).click();
  const file = await download;
  expect(file.suggestedFilename()).toMatch(/\.md$/);
  expect(readFileSync(await file.path(), "utf8")).toContain("exported {words:4}");
  await tab
    .locator(".talk-bar")
    .getByRole("button", { name: /^Actions for/ })
    .click();
  await tab.getByRole("menuitem", { name: "Duplicate" }).click();
  await tab.getByText("A copy was made.").waitFor();
  expect(sessionOf(tab)).not.toBe(from);
  await tab.getByRole("article", { name: "You" }).getByText("exported {words:4}").waitFor();
});

test("several at once are tagged, exported, archived and trashed, and brought back by one word", async () => {
  for (const name of ["Heap one", "Heap two", "Heap three"]) await begin(name);
  const { tab, complaints } = await rig.openTab();
  const check = (name: string) => list(tab).getByRole("checkbox", { name: `Select ${name}` });
  const act = (name: string) => list(tab).getByRole("button", { name, exact: true });
  async function selectTwo(): Promise<void> {
    await choose(tab, "Heap one", "Select several…");
    await check("Heap two").check();
    await list(tab).getByText("2 selected").waitFor();
  }
  const before = await row(tab, "Heap three").boundingBox();
  await selectTwo();
  // Rows stay where they are, and a row under the pointer keeps its time.
  const third = list(tab).getByTitle("Heap three", { exact: true });
  expect(await third.boundingBox()).toEqual(before);
  await third.hover();
  await third.locator(".session-time").waitFor({ state: "visible" });
  await act("Add a tag…").click();
  await tab.getByRole("textbox", { name: "Tag" }).fill("heap");
  await tab.getByRole("button", { name: "Save" }).click();
  await tab.getByText("2 conversations are tagged “heap”.").waitFor();
  await selectTwo();
  const download = tab.waitForEvent("download");
  await act("As Markdown").click();
  const text = readFileSync(await (await download).path(), "utf8");
  expect(text).toContain("Heap one");
  expect(text).toContain("Heap two");
  expect(text).not.toContain("Heap three");
  await selectTwo();
  await act("Archive").click();
  await tab.getByText("2 conversations are archived.").waitFor();
  await row(tab, /Heap (one|two)/)
    .first()
    .waitFor({ state: "detached" });
  await tab.getByRole("button", { name: "Undo" }).click();
  await row(tab, /Heap two/).waitFor();
  await selectTwo();
  await act("Move to trash").click();
  await tab.getByText("2 conversations are in the trash.").waitFor();
  await shelf(tab, "Trash");
  await selectTwo();
  await act("Restore").click();
  await tab.getByText("2 conversations are back.").waitFor();
  await shelf(tab, "Recent");
  await row(tab, /Heap two/).waitFor();
  await shelf(tab, "heap");
  await expect.poll(() => row(tab, /Heap/).allInnerTexts()).toHaveLength(2);
  expect(await row(tab, /Heap three/).count()).toBe(0);
  expect(complaints).toEqual([]);
});
