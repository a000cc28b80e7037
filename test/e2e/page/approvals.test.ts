import { join } from "node:path";
import { expect, test } from "vitest";
import { answers, createPageRig, send, sessionOf } from "./page-rig.ts";

const rig = createPageRig();

const question = 'Ask me {tool:ask_user {"question":"Which colour?","choices":["red","blue"]}}';

test("choosing one of the answers to a question continues the run with it", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, question);
  const card = tab.getByRole("region", { name: "Question", exact: true });
  await card.getByText("Which colour?").waitFor();
  expect(await card.getByRole("button", { name: "Allow once" }).count()).toBe(0);
  await card.getByRole("button", { name: "blue" }).click();
  await answers(tab).getByText("The tool ask_user answered “blue”.").waitFor();
  expect(consoleErrors).toEqual([]);
});

test("a question takes a free answer, or is declined", async () => {
  const { tab } = await rig.openTab();
  await send(tab, question);
  const card = tab.getByRole("region", { name: "Question", exact: true });
  await card.getByRole("textbox", { name: "Your answer" }).fill("neither of them");
  await card.getByRole("button", { name: "Answer", exact: true }).click();
  await answers(tab).getByText("The tool ask_user answered “neither of them”.").waitFor();
  await send(tab, question);
  await card.getByRole("button", { name: "Skip" }).click();
  await answers(tab).getByText("The person did not want to answer").waitFor();
  expect(await card.count()).toBe(0);
});

test("an approval shows what would run and where, and a lasting approval stores the chosen rule", async () => {
  const { tab } = await rig.openTab();
  await send(tab, '{tool:terminal {"command":["echo","kelp"]}}');
  const card = tab.getByRole("region", { name: "Run this command?" });
  await card.getByText("Runs in this conversation's workspace").waitFor();
  await card.getByText(/^In a sandbox \(\w+\): it can change only the workspace/).waitFor();
  await card.getByText(`In ${join(rig.home(), "workspaces", sessionOf(tab))}`).waitFor();
  const covers = card.getByRole("combobox", { name: "Applies to" });
  expect(await covers.inputValue()).toBe("terminal: echo kelp");
  await covers.selectOption("terminal: echo *");
  await card.getByRole("button", { name: "Always allow" }).click();
  await answers(tab).getByText("The tool terminal answered “kelp”.").waitFor();
  const listed = await rig.client().listRules();
  expect(listed.ok && listed.value.rules.map(({ rule }) => rule)).toEqual(["terminal: echo *"]);
});

test("[safety] a command behind thousands of empty lines is in view, and a long one can be allowed only once all of it was", async () => {
  const { tab } = await rig.openTab({ viewport: { width: 360, height: 640 } });
  const card = tab.getByRole("region", { name: "Run this command?" });
  const allow = card.getByRole("button", { name: "Allow once" });
  const hidden = `true${"\n".repeat(2_500)}echo evil`;
  await send(tab, `{tool:terminal ${JSON.stringify({ command: hidden })}}`);
  const shown = card.locator(".approval-shown");
  await shown.getByText("[2,499 empty lines]").waitFor();
  await shown.getByText("echo evil").waitFor();
  await card.getByRole("button", { name: "Deny" }).click();
  await answers(tab).getByText("A person did not allow this").waitFor();

  const lines = Array.from({ length: 200 }, (_, n) => `# line ${n}`);
  const long = ["true", ...lines, "echo evil"].join("\n");
  await send(tab, `{tool:terminal ${JSON.stringify({ command: long })}}`);
  await card.getByText("Scroll to the end to allow it.").waitFor();
  expect(await allow.isDisabled()).toBe(true);
  expect(await card.getByRole("button", { name: "Always allow" }).isDisabled()).toBe(true);
  // Jumping to the end leaves out the middle.
  await shown.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
  await shown.getByText("echo evil").waitFor();
  expect(await allow.isDisabled()).toBe(true);
  for (const piece of await shown.locator("span").all()) await piece.scrollIntoViewIfNeeded();
  await expect.poll(() => allow.isDisabled()).toBe(false);
  await allow.click();
  await answers(tab).getByText("The tool terminal answered “evil”.").waitFor();
});

test("[safety] a yes for the conversation can have an end, is listed, and no longer counts once it is revoked", async () => {
  const { tab, openAnother } = await rig.openTab();
  const call = '{tool:terminal {"command":["printf","dulse"]}}';
  await send(tab, call);
  const card = tab.getByRole("region", { name: "Run this command?" });
  // Every page counts the open approvals, until they are answered anywhere.
  const settings = await openAnother("?settings=tools");
  const waiting = settings.getByRole("button", { name: "1 call needs your approval" });
  await waiting.waitFor();
  await card.getByRole("combobox", { name: "Valid" }).selectOption("for a day");
  await card.getByRole("button", { name: "Allow in this conversation" }).click();
  await answers(tab).getByText("The tool terminal answered “dulse”.").waitFor();
  await waiting.waitFor({ state: "hidden" });
  await settings.reload();
  const takeBack = settings.getByRole("button", { name: "Remove: terminal: printf dulse" });
  await takeBack.click();
  await takeBack.waitFor({ state: "hidden" });
  await send(tab, call);
  await card.waitFor();
  expect(await answers(tab).getByText("The tool terminal answered “dulse”.").count()).toBe(1);
});
