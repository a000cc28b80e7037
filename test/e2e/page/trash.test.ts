import { expect, test } from "vitest";
import { valueOf } from "../served-host.ts";
import { createPageRig, send, sessionOf, untilDone } from "./page-rig.ts";

const rig = createPageRig();

async function trashed(title: string) {
  const client = rig.client();
  const { session } = valueOf(await client.createSession({ body: { title } }));
  valueOf(await client.trashSession({ params: { id: session.id } }));
  return session.id;
}

test("a conversation in the trash is deleted permanently after a confirmation, and then all are", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await tab.clock.install();
  await tab.reload();
  await send(tab, "Keep me {words:3}");
  await untilDone(tab);
  const kept = sessionOf(tab);
  const first = await trashed("Old plans");
  await trashed("Older plans");
  await trashed("Oldest plans");
  await tab.getByRole("button", { name: /Filter conversations/ }).click();
  await tab.getByRole("menuitemradio", { name: "Trash" }).click();
  await tab.getByRole("button", { name: "Actions for Old plans" }).click({ force: true });
  await tab.getByRole("menuitem", { name: "Delete permanently…" }).click();
  const dialog = tab.getByRole("dialog", { name: "Delete “Old plans” permanently?" });
  await dialog.getByRole("button", { name: "Cancel" }).click();
  const stillThere = await rig.client().readSession({ params: { id: first } });
  expect(stillThere.ok).toBe(true);
  await tab.getByRole("button", { name: "Actions for Old plans" }).click({ force: true });
  await tab.getByRole("menuitem", { name: "Delete permanently…" }).click();
  await dialog.getByRole("button", { name: "Delete permanently" }).click();
  await tab.getByText("“Old plans” deleted.").waitFor();
  expect(await rig.client().readSession({ params: { id: first } })).toMatchObject({
    error: { code: "session_not_found" },
  });
  // Toasts of the same moment are shown together.
  await tab.clock.fastForward(1_500);
  await tab.getByRole("button", { name: "Empty trash…" }).click();
  await tab
    .getByRole("dialog", { name: "Empty the trash?" })
    .getByRole("button", { name: "Empty trash" })
    .click();
  await tab.getByText("2 conversations deleted.").waitFor();
  // What was shown before may no longer be true.
  expect(await tab.locator(".toast").count()).toBe(1);
  await tab.getByText("The trash is empty.").waitFor();
  expect(valueOf(await rig.client().readSession({ params: { id: kept } })).session.id).toBe(kept);
  expect(consoleErrors).toEqual([]);
});
