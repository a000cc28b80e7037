import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePdf } from "@holdfast/testing/fixtures/make-pdf";
import { expect, test } from "vitest";
import { makeFolder, valueOf } from "../served-host.ts";
import { createPageRig, send, sessionOf, untilDone } from "./page-rig.ts";

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
  await tab.getByText("rehearsal does not see pictures.", { exact: false }).waitFor();
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
  await tab.getByText("rehearsal gets the text of a PDF", { exact: false }).waitFor();
  await send(tab, "How much? {echo}");
  await untilDone(tab);
  await tab.getByRole("article").last().getByText("Total: 4711", { exact: false }).waitFor();
  const sent = tab.getByRole("article").first();
  await sent.getByText("Added for the model: file bill.pdf").click();
  await sent.getByText("[page 2 of 2]", { exact: false }).waitFor();
  expect(consoleErrors).toEqual([]);
});
