import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { makePdf } from "@holdfast/testing/fixtures/make-pdf";
import { expect, test } from "vitest";
import { makeFolder, valueOf } from "../served-host.ts";
import { answers, createPageRig, messageField, send, sessionOf, untilDone } from "./page-rig.ts";

const rig = createPageRig();

const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** A folder that the owner has allowed, with one file of each kind. */
async function makeProject(): Promise<string> {
  const project = join(realpathSync(makeFolder()), "tides");
  mkdirSync(join(project, "src"), { recursive: true });
  writeFileSync(join(project, "src", "tide.ts"), "export const tide = 'high';\n");
  writeFileSync(join(project, "chart.png"), pixel);
  writeFileSync(
    join(project, "map.svg"),
    '<svg xmlns="http://www.w3.org/2000/svg" width="3000" height="4000"><rect width="9" height="9"/></svg>',
  );
  writeFileSync(
    join(project, "page.html"),
    "<script>document.body.textContent = 'it ran'</script><h1>Only text</h1>",
  );
  writeFileSync(join(project, "data.bin"), Buffer.from([0, 1, 2, 255]));
  writeFileSync(join(project, "evil\u202Egnp.txt"), "x");
  valueOf(await rig.client().allowFolder({ body: { path: project } }));
  return project;
}

test("a conversation begins in the folder that was chosen, and its files are browsed and previewed", async () => {
  const project = await makeProject();
  const { tab, consoleErrors } = await rig.openTab();
  await tab.getByRole("button", { name: /Own folder/ }).click();
  await tab.getByRole("menuitemradio", { name: /tides/ }).click();
  await send(tab, "Hello {words:3}");
  await untilDone(tab);
  const { session } = valueOf(await rig.client().readSession({ params: { id: sessionOf(tab) } }));
  expect(session.workspace).toBe(project);

  await tab.getByRole("button", { name: "Files", exact: true }).click();
  const panel = tab.getByRole("complementary", { name: "Files" });
  await panel.getByRole("button", { name: "src" }).click();
  await panel.getByRole("button", { name: /tide\.ts/ }).click();
  const viewer = tab.getByRole("dialog");
  await viewer.getByText("export const tide = 'high';").waitFor();
  await viewer.locator(".hljs-keyword").first().waitFor();
  await tab.keyboard.press("Escape");
  await viewer.waitFor({ state: "detached" });
  await panel.getByRole("button", { name: "Workspace", exact: true }).click();

  await panel.getByRole("button", { name: /chart\.png/ }).click();
  const picture = viewer.getByRole("img");
  await expect
    .poll(() => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth))
    .toBe(1);
  await viewer.getByRole("button", { name: "Close" }).click();
  await panel.getByRole("button", { name: /map\.svg/ }).click();
  await expect
    .poll(() => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth))
    .toBe(3000);
  const [whole, frame] = [await picture.boundingBox(), await viewer.boundingBox()];
  if (whole === null || frame === null) throw new Error("nothing is shown");
  expect(whole.y + whole.height).toBeLessThanOrEqual(frame.y + frame.height);
  expect(whole.width / whole.height).toBeCloseTo(0.75);
  await viewer.getByRole("button", { name: "Close" }).click();

  await panel.getByRole("button", { name: /data\.bin/ }).click();
  await viewer.getByText("This file is not text.", { exact: false }).waitFor();
  await viewer.getByRole("button", { name: "Close" }).click();
  // A name that reads backwards shows what it is.
  await panel.getByText("evil⟨U+202E⟩gnp.txt").waitFor();
  expect(consoleErrors).toEqual([]);
});

test("[safety] a page of the workspace is shown without its scripts", async () => {
  const project = await makeProject();
  const { session } = valueOf(await rig.client().createSession({ body: { workspace: project } }));
  const { tab } = await rig.openTab({ at: `?session=${session.id}` });
  await tab.getByRole("button", { name: "Files", exact: true }).click();
  await tab.getByRole("button", { name: /page\.html/ }).click();
  const frame = tab.frameLocator("iframe.viewer-frame");
  await frame.getByRole("heading", { name: "Only text" }).waitFor();
  expect(await tab.locator("iframe.viewer-frame").getAttribute("sandbox")).toBe("");
});

test("a file is uploaded, replaced only after a yes, and downloaded", async () => {
  const project = await makeProject();
  const { session } = valueOf(await rig.client().createSession({ body: { workspace: project } }));
  const { tab, consoleErrors } = await rig.openTab({ at: `?session=${session.id}` });
  await tab.getByRole("button", { name: "Files", exact: true }).click();
  const panel = tab.getByRole("complementary", { name: "Files" });
  await panel.getByRole("button", { name: /chart\.png/ }).waitFor();
  const upload = (text: string) =>
    panel
      .locator("input[type=file]")
      .setInputFiles({ name: "log.txt", mimeType: "text/plain", buffer: Buffer.from(text) });
  const stored = () => readFileSync(join(project, "log.txt"), "utf8");
  await upload("low");
  await panel.getByRole("button", { name: /log\.txt/ }).waitFor();
  expect(stored()).toBe("low");
  await upload("high");
  const question = tab.getByRole("dialog", { name: "Replace log.txt?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  await question.waitFor({ state: "detached" });
  expect(stored()).toBe("low");
  await upload("high");
  await question.getByRole("button", { name: "Replace" }).click();
  await expect.poll(stored).toBe("high");
  await panel.getByRole("button", { name: /log\.txt/ }).click();
  const download = tab.waitForEvent("download");
  await tab.getByRole("link", { name: "Download" }).click();
  const saved = await (await download).path();
  expect(readFileSync(saved, "utf8")).toBe("high");
  expect(consoleErrors).toEqual([]);
});

test("a folder that may not be used yet says what to do", async () => {
  const folder = realpathSync(makeFolder());
  const { tab } = await rig.openTab();
  await tab.getByRole("button", { name: /Own folder/ }).click();
  await tab.getByRole("menuitem", { name: /Other folder/ }).click();
  const dialog = tab.getByRole("dialog", { name: "Work in a folder" });
  await dialog.getByRole("textbox", { name: "Folder" }).fill(folder);
  await dialog.getByRole("button", { name: "Use this folder" }).click();
  await dialog.getByText(`holdfast workspaces allow ${folder}`, { exact: false }).waitFor();
  await dialog.getByRole("textbox", { name: "Folder" }).fill("/");
  await dialog.getByRole("textbox", { name: "Folder" }).press("Enter");
  await dialog.getByText("contains the home of Holdfast", { exact: false }).waitFor();
  expect(valueOf(await rig.client().listFolders()).folders).not.toContainEqual(
    expect.objectContaining({ path: folder }),
  );
});

test("a picture of a message opens larger, and Escape returns to the conversation", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await tab
    .locator(".composer input[type=file]")
    .setInputFiles({ name: "chart.png", mimeType: "image/png", buffer: pixel });
  await tab.getByRole("button", { name: "Remove chart.png" }).waitFor();
  await tab.getByText("Rehearsal cannot see pictures.", { exact: false }).waitFor();
  await send(tab, "Look {words:3}");
  await untilDone(tab);
  await tab.getByRole("button", { name: "Show chart.png larger" }).click();
  const viewer = tab.getByRole("dialog", { name: "chart.png" });
  await viewer.getByRole("img", { name: "chart.png" }).waitFor();
  await viewer.getByRole("link", { name: "Download" }).waitFor();
  await tab.keyboard.press("Escape");
  await viewer.waitFor({ state: "detached" });
  expect(consoleErrors).toEqual([]);
});

test("the page says what a model gets of a PDF before it is sent, and shows the text it got", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  const buffer = Buffer.from(makePdf([["Bill of the ferry"], ["Total: 4711"]]));
  await tab
    .locator(".composer input[type=file]")
    .setInputFiles({ name: "bill.pdf", mimeType: "application/pdf", buffer });
  await tab.getByText("Rehearsal gets the text of PDFs", { exact: false }).waitFor();
  await send(tab, "How much? {echo}");
  await untilDone(tab);
  await tab.getByRole("article").last().getByText("Total: 4711", { exact: false }).waitFor();
  const sent = tab.getByRole("article").first();
  await sent.getByText(/Added for the model: .*bill\.pdf/).click();
  await sent.getByText("[page 2 of 2]", { exact: false }).waitFor();
  expect(consoleErrors).toEqual([]);
});

test("attached files are shown before and after they are sent, and can be attached again", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  const chips = tab.getByRole("list", { name: "Attachments" });
  await tab.locator(".composer input[type=file]").setInputFiles([
    { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("low tide at six") },
    { name: "bill.pdf", mimeType: "application/pdf", buffer: Buffer.from(makePdf([["Ferry"]])) },
  ]);
  const viewer = (name: string) => tab.getByRole("dialog", { name });
  await chips.getByRole("button", { name: "Show notes.txt" }).click();
  await viewer("notes.txt").getByText("low tide at six").waitFor();
  await tab.keyboard.press("Escape");
  await send(tab, "Read {words:3}");
  await untilDone(tab);
  const sent = tab.getByRole("article").first();
  const hasPdfViewer = (has: boolean) =>
    tab.evaluate((value) => {
      Object.defineProperty(navigator, "pdfViewerEnabled", { value, configurable: true });
    }, has);
  await hasPdfViewer(false);
  await sent.getByRole("button", { name: "Show bill.pdf" }).click();
  const link = viewer("bill.pdf").getByRole("link", { name: "Open the PDF" });
  expect(await link.getAttribute("href")).toContain("as=view");
  await tab.keyboard.press("Escape");
  await hasPdfViewer(true);
  const shown = tab.waitForResponse((response) => response.url().includes("as=view"));
  await sent.getByRole("button", { name: "Show bill.pdf" }).click();
  const { "content-type": type, "content-disposition": disposition } = (await shown).headers();
  expect([type, disposition]).toEqual(["application/pdf", "inline"]);
  await viewer("bill.pdf").getByRole("button", { name: "Attach to the next message" }).click();
  await chips.getByRole("button", { name: "Show bill.pdf" }).waitFor();
  await send(tab, "Again {words:3}");
  await untilDone(tab, 2);
  expect(await tab.getByRole("button", { name: "Show bill.pdf" }).count()).toBe(2);
  expect(consoleErrors).toEqual([]);
});

test("files keep the order in which they were added, and one that failed is tried again", async () => {
  const { tab } = await rig.openTab();
  const chips = tab.getByRole("list", { name: "Attachments" });
  const { promise: allowed, resolve: allow } = Promise.withResolvers<void>();
  let hasFailed = false;
  await tab.route("**/api/blobs", async (route) => {
    const content = route.request().postData();
    if (content === "first") await allowed;
    if (content !== "second" || hasFailed) return route.continue();
    hasFailed = true;
    const problem = {
      type: "about:blank",
      title: "The disk is full.",
      status: 507,
      code: "disk_full",
    };
    return route.fulfill({ status: 507, contentType: "application/problem+json", json: problem });
  });
  const textFile = (name: string) => ({
    name: `${name}.txt`,
    mimeType: "text/plain",
    buffer: Buffer.from(name),
  });
  await tab
    .locator(".composer input[type=file]")
    .setInputFiles(["first", "second", "third"].map(textFile));
  await chips.getByRole("button", { name: "Show third.txt" }).waitFor();
  const failed = chips.getByRole("listitem").filter({ hasText: "second.txt" });
  await failed.getByRole("alert").waitFor();
  expect(await tab.getByRole("button", { name: "Send", exact: true }).isDisabled()).toBe(true);
  await failed.getByRole("button", { name: "Try again" }).click();
  await chips.getByRole("button", { name: "Show second.txt" }).waitFor();
  allow();
  await chips.getByRole("button", { name: "Show first.txt" }).waitFor();
  expect(await chips.locator(".chip-name").allTextContents()).toEqual([
    "first.txt",
    "second.txt",
    "third.txt",
  ]);
});

test("a picture of a kind that no model takes is converted, and its original can be sent instead", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  const chips = tab.getByRole("list", { name: "Attachments" });
  await tab
    .locator(".composer input[type=file]")
    .setInputFiles({ name: "photo.bmp", mimeType: "image/bmp", buffer: twoPixels() });
  await chips.getByRole("button", { name: "Show photo.jpg" }).waitFor();
  await tab.getByText("Converted to photo.jpg", { exact: false }).waitFor();
  await tab.getByRole("button", { name: "Attach the original as a file" }).click();
  await chips.getByRole("button", { name: "Show photo.bmp" }).waitFor();
  expect(await chips.locator(".chip-name").allTextContents()).toEqual(["photo.bmp"]);
  expect(consoleErrors).toEqual([]);
});

test("a file of the workspace is attached from its preview", async () => {
  const project = await makeProject();
  const { session } = valueOf(await rig.client().createSession({ body: { workspace: project } }));
  const { tab } = await rig.openTab({ at: `?session=${session.id}` });
  await tab.getByRole("button", { name: "Files", exact: true }).click();
  await tab.getByRole("button", { name: /chart\.png/ }).click();
  await tab.getByRole("button", { name: "Attach to the next message" }).click();
  const picture = tab.getByRole("list", { name: "Attachments" }).locator("img");
  await picture.waitFor();
  expect(await picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(
    0,
  );
});

/** A bitmap of two pixels, without compression. */
function twoPixels(): Buffer {
  const header = Buffer.alloc(54);
  header.write("BM");
  header.writeUInt32LE(62, 2);
  header.writeUInt32LE(54, 10);
  header.writeUInt32LE(40, 14);
  header.writeInt32LE(2, 18);
  header.writeInt32LE(1, 22);
  header.writeUInt16LE(1, 26);
  header.writeUInt16LE(24, 28);
  header.writeUInt32LE(8, 34);
  return Buffer.concat([header, Buffer.from([255, 0, 0, 0, 0, 255, 0, 0])]);
}

/** Pastes into the field as the browser does, and fills it in if the page leaves that to the browser. */
const paste = (tab: Page, text: string): Promise<void> =>
  messageField(tab).evaluate((field, content) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", content);
    const isLeft = field.dispatchEvent(
      new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
    );
    field.focus();
    if (isLeft) document.execCommand("insertText", false, content);
  }, text);

test("a long paste becomes an attachment that can be kept as text, and Ctrl+Shift+V pastes text", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  const field = messageField(tab);
  const log = Array.from({ length: 80 }, (_, index) => `line ${index + 1} of the log`).join("\n");
  await field.fill("Look");
  await paste(tab, log);
  await tab.getByRole("button", { name: "Remove pasted-text.txt" }).waitFor();
  expect(await field.inputValue()).toBe("Look");
  await tab.getByRole("button", { name: "Keep pasted-text.txt as text" }).click();
  expect(await field.inputValue()).toBe(`Look\n${log}`);
  expect(await tab.getByRole("button", { name: "Remove pasted-text.txt" }).count()).toBe(0);

  await field.fill("");
  // Pressed for real, it would paste the clipboard of the machine.
  await field.dispatchEvent("keydown", { key: "V", ctrlKey: true, shiftKey: true });
  await paste(tab, log);
  expect(await field.inputValue()).toBe(log);

  await field.fill("");
  await paste(tab, "short");
  expect(await field.inputValue()).toBe("short");
  await paste(tab, JSON.stringify({ log: log.repeat(4) }));
  await tab.getByRole("button", { name: "Remove pasted-text-2.json" }).waitFor();
  await send(tab, "What is in it? {rate:1000} {echo}");
  await untilDone(tab);
  await answers(tab).getByText("line 80 of the log", { exact: false }).waitFor();
  expect(consoleErrors).toEqual([]);
});

test("a file is taken wherever it is dropped: over panels, dialogs and previews, and the page stays", async () => {
  const project = await makeProject();
  const { session } = valueOf(await rig.client().createSession({ body: { workspace: project } }));
  const { tab } = await rig.openTab({ at: `?session=${session.id}` });
  /** Whether the page took what was dragged over and dropped on the element. */
  const drop = (target: Locator, name: string): Promise<boolean> =>
    target.evaluate((element, file) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["dropped"], file, { type: "text/plain" }));
      const isLeft = (type: string): boolean =>
        element.dispatchEvent(
          new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }),
        );
      return !isLeft("dragover") && !isLeft("drop");
    }, name);
  const isAttached = (name: string) =>
    tab.getByRole("button", { name: `Remove ${name}`, includeHidden: true }).waitFor({
      state: "attached",
    });
  await tab.getByRole("button", { name: "Files", exact: true }).click();
  const panel = tab.getByRole("complementary", { name: "Files" });
  await panel.getByRole("button", { name: /page\.html/ }).waitFor();
  expect(await drop(panel, "over-panel.txt")).toBe(true);
  await isAttached("over-panel.txt");
  expect(await drop(tab.getByRole("navigation").first(), "over-list.txt")).toBe(true);
  await isAttached("over-list.txt");

  await panel.getByRole("button", { name: /page\.html/ }).click();
  const viewer = tab.getByRole("dialog");
  const frame = viewer.locator("iframe");
  await frame.waitFor();
  // A frame keeps what is dragged over it to itself, so none may be under the pointer.
  const pointerEvents = () => frame.evaluate((element) => getComputedStyle(element).pointerEvents);
  expect(await pointerEvents()).not.toBe("none");
  await viewer.evaluate((element) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["x"], "x.txt"));
    element.dispatchEvent(new DragEvent("dragover", { dataTransfer, bubbles: true }));
  });
  expect(await pointerEvents()).toBe("none");
  expect(await tab.locator(".composer textarea").getAttribute("placeholder")).toBe(
    "Drop files to attach them",
  );
  expect(await drop(viewer, "over-dialog.txt")).toBe(true);
  await isAttached("over-dialog.txt");
  expect(await pointerEvents()).not.toBe("none");
  await tab.keyboard.press("Escape");

  const { tab: settings } = await rig.openTab({ at: "?settings=models" });
  await settings.getByRole("heading", { level: 1 }).first().waitFor();
  expect(await drop(settings.locator("body"), "nowhere.txt")).toBe(true);
});
