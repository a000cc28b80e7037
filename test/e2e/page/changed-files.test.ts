import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { followUntil, hasEnded, makeFolder, valueOf } from "../served-host.ts";
import { answers, createPageRig, send, untilDone } from "./page-rig.ts";

const rig = createPageRig();

const call = (name: string, input: object): string => `{tool:${name} ${JSON.stringify(input)}}`;

/** A conversation whose last turn changed one file, made two and sent one of them. */
async function openChanged() {
  const folder = join(realpathSync(makeFolder()), "tides");
  mkdirSync(folder);
  writeFileSync(join(folder, "a.txt"), "one\ntwo\nthree\n");
  const client = rig.client();
  valueOf(await client.allowFolder({ body: { path: folder } }));
  const body = { workspace: folder, mode: "edits" } as const;
  const { session } = valueOf(await client.createSession({ body }));
  const { tab, consoleErrors } = await rig.openTab({ at: `?session=${session.id}` });
  await send(
    tab,
    call("edit_file", { path: "a.txt", old: "two", new: "2" }) +
      call("write_file", { path: "b.txt", content: "new\n" }) +
      call("write_file", { path: "c.txt", content: "new\n" }) +
      call("send_file", { path: "b.txt" }),
  );
  await followUntil(client, session.id, hasEnded);
  await untilDone(tab);
  const read = (name: string): string | null =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8") : null;
  const files = () => ["a.txt", "b.txt", "c.txt"].map(read);
  return { tab, consoleErrors, folder, files };
}

const changed = ["one\n2\nthree\n", "new\n", "new\n"];

async function openUndo(tab: Page) {
  await tab
    .locator(".talk-bar")
    .getByRole("button", { name: /^Actions for/ })
    .click();
  await tab.getByRole("menuitem", { name: "Undo turn and files…" }).click();
  const dialog = tab.getByRole("dialog");
  await dialog.getByRole("radio", { name: "Conversation and files" }).waitFor();
  return dialog;
}

test("an undo on the page says what it would do, leaves what a person changed, names what stays, and is redone", async () => {
  const { tab, consoleErrors, folder, files } = await openChanged();
  writeFileSync(join(folder, "c.txt"), "A person's own.\n");
  const dialog = await openUndo(tab);
  const planned = await dialog.getByRole("region", { name: "3 files" }).innerText();
  expect(planned.split(/\n+/)).toEqual([
    "3 files",
    "a.txt",
    "Restore",
    "b.txt",
    "Delete",
    "c.txt",
    "Kept: it was changed since then",
  ]);
  const effects = dialog.getByRole("region", { name: "Cannot be undone" });
  expect((await effects.innerText()).split(/\n+/)).toEqual(["Cannot be undone", "Sent", "b.txt"]);
  await dialog.getByRole("radio", { name: /^Only the files/ }).check();
  await dialog.getByRole("button", { name: "Undo", exact: true }).click();
  const notice = tab.getByRole("note").filter({ hasText: "2 files were restored" });
  await notice.waitFor();
  expect(await notice.innerText()).toContain(
    "Left as they are: c.txt (changed since then). Cannot be undone: sent b.txt.",
  );
  expect(files()).toEqual(["one\ntwo\nthree\n", null, "A person's own.\n"]);
  expect(await answers(tab).count()).toBeGreaterThan(0);
  await tab.locator(".toast").getByRole("button", { name: "Redo" }).click();
  await tab.getByRole("note").filter({ hasText: "The undo of files was reverted" }).waitFor();
  expect(files()).toEqual([changed[0], changed[1], "A person's own.\n"]);

  await (await openUndo(tab)).getByRole("button", { name: "Undo", exact: true }).click();
  await answers(tab).first().waitFor({ state: "detached" });
  // The turn leaves first; its files follow.
  await expect.poll(files).toEqual(["one\ntwo\nthree\n", null, "A person's own.\n"]);
  expect(consoleErrors).toEqual([]);
});

test("the diff of a turn is read by keyboard, and comments on a line and a file go back as one message", async () => {
  const { tab, consoleErrors } = await openChanged();
  await tab.getByRole("button", { name: "Changed files" }).click();
  const panel = tab.getByRole("complementary", { name: "Changed files" });
  const lines = panel.getByRole("listbox", { name: /^Changed lines of a\.txt/ });
  await lines.focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) await tab.keyboard.press(key);
  await tab.keyboard.type("Spell it out.");
  await panel.getByRole("button", { name: "Add comment" }).click();
  await panel
    .locator("details")
    .nth(1)
    .getByRole("button", { name: "Comment on the file" })
    .click();
  await tab.keyboard.type("Why this file?");
  await panel.getByRole("button", { name: "Add comment" }).click();
  await tab.reload();
  await tab.getByRole("button", { name: "Changed files" }).click();
  await panel.getByRole("button", { name: "Send 2 comments" }).click();
  const said = tab.getByRole("article", { name: "You" }).last();
  await said.getByText("Comments on the changes:").waitFor();
  const written = (await said.locator(".message-body").innerText()).split(/\n+/);
  expect(written.slice(0, 6)).toEqual([
    "Comments on the changes:",
    "a.txt, line 2:",
    "> + 2",
    "Spell it out.",
    "b.txt:",
    "Why this file?",
  ]);
  await panel.getByRole("button", { name: "Send 2 comments" }).waitFor({ state: "detached" });
  expect(consoleErrors).toEqual([]);
});
