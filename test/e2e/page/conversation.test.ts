import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { shownMessages } from "./compare-messages.ts";
import {
  answers,
  createPageRig,
  expectShownIsStored,
  messageField,
  send,
  sessionOf,
  stopButton,
  untilDone,
} from "./page-rig.ts";

const rig = createPageRig();
const userMessages = (tab: Parameters<typeof send>[0]) => tab.getByRole("article", { name: "You" });

test("a first conversation is answered, listed, and still there after a reload", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await tab.getByRole("heading", { name: "What can I help with?" }).waitFor();
  await send(tab, "Tell me something {words:40} {rate:400}");
  await untilDone(tab);
  const messages = await shownMessages(tab);
  expect(messages[1]?.split(" ").length).toBeGreaterThanOrEqual(40);
  await tab.getByRole("link", { name: /Tell me something/ }).waitFor();
  await tab.reload();
  await answers(tab).waitFor();
  expect(await shownMessages(tab)).toEqual(messages);
  await expectShownIsStored(tab, rig.client());
  expect(consoleErrors).toEqual([]);
});

test("[P6] closing a tab stops nothing, and stopping a run keeps its text", async () => {
  const first = await rig.openTab();
  await send(first.tab, "{words:2000} {rate:100}");
  await answers(first.tab).getByText("holdfast").waitFor();
  const seen = (await shownMessages(first.tab))[1] ?? "";
  const address = first.tab.url();
  const second = await first.openAnother(address);
  await first.tab.close();
  await answers(second).getByText("holdfast").first().waitFor();
  expect((await shownMessages(second))[1]?.startsWith(seen)).toBe(true);
  await stopButton(second).click();
  await second.getByText("Stopped here.").waitFor();
  expect((await shownMessages(second))[1]?.startsWith(seen)).toBe(true);
  await expectShownIsStored(second, rig.client());

  await second.getByRole("button", { name: "Resume" }).click();
  await answers(second).nth(1).waitFor();
  await stopButton(second).click();
  expect(first.consoleErrors).toEqual([]);
});

test("an approval shows exactly what would run; the call runs when allowed and not when denied", async () => {
  const { tab } = await rig.openTab();
  await send(tab, 'Look {tool:terminal {"command":"echo seen-by-the-tool"}} {words:5}');
  const card = tab.getByRole("region", { name: "Run this command?" });
  await card.getByText(/^Shell command[\s\S]*echo seen-by-the-tool/).waitFor();
  await tab.reload();
  await card.getByRole("button", { name: "Allow once" }).click();
  const done = tab.getByRole("region", { name: "terminal: Done" });
  await done.getByRole("button", { expanded: false }).click();
  await done.getByText("seen-by-the-tool", { exact: true }).waitFor();
  await untilDone(tab, 2);
  await send(tab, 'Again {tool:terminal {"command":"echo never"}} {words:5}');
  await card.getByRole("button", { name: "Deny" }).click();
  await tab.getByRole("region", { name: "terminal: Denied" }).waitFor();
  await untilDone(tab, 4);
  await expectShownIsStored(tab, rig.client());
});

test("messages sent during a run are queued visibly, can be edited and taken back, and can interrupt the run", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "{words:5000} {rate:200}");
  await answers(tab).getByText("holdfast").waitFor();
  await send(tab, "to be rewritten");
  await send(tab, "to be taken back");
  const queue = tab.getByRole("list", { name: "Waiting" });
  await queue.getByRole("listitem").nth(1).waitFor();
  await queue.getByRole("listitem").nth(1).getByRole("button", { name: "Cancel" }).click();
  await queue.getByText("to be taken back").waitFor({ state: "detached" });
  await queue.getByRole("button", { name: "Edit" }).click();
  const dialog = tab.getByRole("dialog");
  await dialog.getByRole("textbox").fill("rewritten {words:7}");
  await dialog.getByRole("button", { name: "Save" }).click();
  await queue.getByText("rewritten {words:7}").waitFor();

  await tab.getByRole("button", { name: "When a run is in progress" }).click();
  await tab.getByRole("menuitemradio", { name: /Interrupt/ }).click();
  await send(tab, "goes first {words:6}");
  await userMessages(tab).nth(2).waitFor();
  await untilDone(tab, 3);
  const messages = await shownMessages(tab);
  expect([messages[2], messages[4]]).toEqual(["goes first {words:6}", "rewritten {words:7}"]);
  await expectShownIsStored(tab, rig.client());
});

test("edit, retry, undo, redo and branch each show what the host has stored", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "one {words:8}");
  await untilDone(tab);
  await send(tab, "two {words:9}");
  await untilDone(tab, 2);
  await userMessages(tab).first().hover();
  await userMessages(tab).first().getByRole("button", { name: "Edit" }).click();
  await tab.getByRole("textbox", { name: "Edited text" }).fill("edited {words:12}");
  await tab.getByRole("button", { name: "Send edit" }).click();
  await userMessages(tab).getByText("edited").waitFor();
  await tab.getByText("two {words:9}").waitFor({ state: "detached" });
  await untilDone(tab);
  await expectShownIsStored(tab, rig.client());

  const menu = tab.locator(".talk-bar").getByRole("button", { name: /^Actions for/ });
  await menu.click();
  await tab.getByRole("menuitem", { name: "Undo last turn" }).click();
  await userMessages(tab).getByText("edited").waitFor({ state: "detached" });
  await tab.getByRole("status").getByRole("button", { name: "Redo" }).click();
  await userMessages(tab).getByText("edited").waitFor();

  const originId = sessionOf(tab);
  await answers(tab).hover();
  await answers(tab).getByRole("button", { name: "Message actions" }).click();
  await tab.getByRole("menuitem", { name: "Branch from here" }).click();
  await tab.getByRole("button", { name: /Branched from another conversation/ }).waitFor();
  expect(sessionOf(tab)).not.toBe(originId);
  await userMessages(tab).getByText("edited").waitFor();
  await expectShownIsStored(tab, rig.client());
});

test("files are attached by picking, pasting and dropping, and drafts survive a reload", async () => {
  const { tab } = await rig.openTab();
  const picker = tab.waitForEvent("filechooser");
  await tab.getByRole("button", { name: "Attach files" }).click();
  await (
    await picker
  ).setFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("kept") });
  await tab.getByRole("button", { name: "Remove notes.txt" }).waitFor();
  await messageField(tab).evaluate((field) => {
    const data = new DataTransfer();
    data.items.add(new File(["dropped"], "dropped.txt", { type: "text/plain" }));
    field.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
    const pasted = new DataTransfer();
    pasted.items.add(new File(["pasted"], "pasted.txt", { type: "text/plain" }));
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: pasted, bubbles: true }));
  });
  await tab.getByRole("button", { name: "Remove dropped.txt" }).waitFor();
  await tab.getByRole("button", { name: "Remove pasted.txt" }).waitFor();
  // A file that is still uploading is not part of the draft yet.
  await expect.poll(() => tab.locator(".chips progress").count()).toBe(0);
  await messageField(tab).fill("with files");
  await tab.reload();
  await tab.getByRole("button", { name: "Remove notes.txt" }).waitFor();
  await tab.getByRole("button", { name: "Remove pasted.txt" }).click();
  expect(await messageField(tab).inputValue()).toBe("with files");
  await tab.getByRole("button", { name: "Send" }).click();
  await tab.getByRole("button", { name: "Show notes.txt" }).waitFor();
  const download = tab.waitForEvent("download");
  await tab.getByRole("button", { name: "Show dropped.txt" }).click();
  await tab.getByRole("link", { name: "Download" }).click();
  expect((await download).suggestedFilename()).toBe("dropped.txt");
  expect(readFileSync(await (await download).path(), "utf8")).toBe("dropped");
  expect(await messageField(tab).inputValue()).toBe("");
});

test("a file dropped anywhere in the window is attached, and the page stays", async () => {
  const { tab } = await rig.openTab();
  await messageField(tab).waitFor();
  const isTaken = await tab.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(["dropped"], "beside.txt", { type: "text/plain" }));
    const drop = (type: string) =>
      document.body.dispatchEvent(
        new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }),
      );
    // An event that nobody prevents makes the browser open the file instead of the page.
    return !drop("dragover") && !drop("drop");
  });
  expect(isTaken).toBe(true);
  await tab.getByRole("button", { name: "Remove beside.txt" }).waitFor();
});

test("Escape hides the suggestions and keeps the text, and stops an answer", async () => {
  const { tab } = await rig.openTab();
  const field = messageField(tab);
  await field.pressSequentially("/und");
  await tab.getByRole("listbox", { name: "Commands" }).waitFor();
  await field.press("Escape");
  await tab.getByRole("listbox", { name: "Commands" }).waitFor({ state: "detached" });
  expect(await field.inputValue()).toBe("/und");
  await field.fill("");
  await send(tab, "go {rate:5} {words:400}");
  await tab.getByRole("button", { name: "Stop", exact: true }).waitFor();
  await field.press("Escape");
  await tab.getByText("Stopped. The partial answer is saved.").waitFor();
});

test("a todo list is shown as a checklist with how much is done", async () => {
  const { tab } = await rig.openTab();
  const items = [
    { text: "read the log", state: "done" },
    { text: "fix the test", state: "doing" },
    { text: "write it down", state: "open" },
  ];
  await send(tab, `{tool:todo ${JSON.stringify({ items })}} {words:4}`);
  const card = tab.getByRole("region", { name: "todo: Done" });
  await card.getByText("1 of 3 done").waitFor();
  const rows = await card.getByRole("listitem").allInnerTexts();
  expect(rows.map((row) => row.replaceAll(/\s+/g, " ").trim())).toEqual([
    "Done: read the log",
    "In progress: fix the test",
    "Open: write it down",
  ]);
  expect(await card.innerText()).not.toContain("[object");
});

test("a message is shown once although its answer comes before the request is answered", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "one {words:3}");
  await untilDone(tab);
  const gate = Promise.withResolvers<void>();
  await tab.route("**/messages", async (route) => {
    const response = await route.fetch();
    await gate.promise;
    await route.fulfill({ response });
  });
  await send(tab, "two {words:5}");
  await answers(tab).nth(1).waitFor();
  await untilDone(tab, 2);
  expect(await tab.getByText("two {words:5}").count()).toBe(1);
  gate.resolve();
});
