import { type Page } from "playwright-core";
import { expect, test } from "vitest";
import { answers, createPageRig, send, sessionOf } from "./page-rig.ts";

const rig = createPageRig();

const modeButton = (tab: Page, label: string) =>
  tab.getByRole("button", { name: `Mode: ${label}. What runs without asking` });
const choose = async (tab: Page, from: string, to: string) => {
  await modeButton(tab, from).click();
  await tab.getByRole("menuitemradio", { name: new RegExp(`^${to} `) }).click();
  await modeButton(tab, to).waitFor();
};
const write = '{tool:write_file {"path":"note.txt","content":"kelp"}}';
const plan = `Plan it {tool:submit_plan ${JSON.stringify({ plan: "1. Write note.txt\n2. Check it" })}}`;

async function modeOnHost(tab: Page) {
  const read = await rig.client().readSession({ params: { id: sessionOf(tab) } });
  return read.ok ? read.value.session.mode : read.error;
}

test("the mode is in view beside the message, and a session begins in the one that was chosen", async () => {
  const { tab, consoleErrors, openAnother } = await rig.openTab();
  await modeButton(tab, "Ask").waitFor();
  await choose(tab, "Ask", "Accept edits");
  await send(tab, write);
  await answers(tab).getByText("The tool write_file answered").waitFor();
  expect(await modeOnHost(tab)).toBe("edits");
  // Another tab of the same session follows the switch.
  const second = await openAnother(tab.url());
  await modeButton(second, "Accept edits").waitFor();
  await choose(tab, "Accept edits", "Ask");
  await modeButton(second, "Ask").waitFor();
  expect(await modeOnHost(tab)).toBe("ask");
  expect(consoleErrors).toEqual([]);
});

test("a plan is approved on the page, which switches the mode; a comment on it goes back to the model", async () => {
  const { tab, consoleErrors } = await rig.openTab({ viewport: { width: 360, height: 740 } });
  await choose(tab, "Ask", "Plan");
  await send(tab, plan);
  const card = tab.getByRole("region", { name: "Plan to approve" });
  await card.getByRole("listitem").getByText("Write note.txt").waitFor();
  for (const name of ["Send", "Stop"]) {
    const box = await tab.getByRole("button", { name, exact: true }).boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThanOrEqual(360);
  }
  await card.getByRole("textbox", { name: "Your comment" }).fill("Without the check.");
  await card.getByRole("button", { name: "Comment", exact: true }).click();
  await answers(tab).getByText("says: Without the check.").waitFor();
  await modeButton(tab, "Plan").waitFor();
  await send(tab, plan);
  await card.getByRole("button", { name: "Approve, and accept edits" }).click();
  await modeButton(tab, "Accept edits").waitFor();
  await answers(tab).getByText("The person has approved the plan.").waitFor();
  expect(await card.count()).toBe(0);
  await send(tab, write);
  await answers(tab).getByText("The tool write_file answered").waitFor();
  expect(consoleErrors).toEqual([]);
});

test("/mode says which mode holds and switches it", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "Hello");
  await answers(tab).first().waitFor();
  await send(tab, "/mode full");
  await modeButton(tab, "Full in the sandbox").waitFor();
  await send(tab, "/mode");
  await tab.getByRole("dialog", { name: "Mode" }).getByText("Full in the sandbox").waitFor();
  expect(await modeOnHost(tab)).toBe("full");
});
