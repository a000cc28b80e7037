import { join } from "node:path";
import { expect, test } from "vitest";
import { answers, createPageRig, send, sessionOf } from "./page-rig.ts";

const rig = createPageRig();

const question = 'Ask me {tool:ask_user {"question":"Which colour?","choices":["red","blue"]}}';

test("choosing one of the answers to a question continues the run with it", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, question);
  const card = tab.getByRole("region", { name: "A question for you" });
  await card.getByText("Which colour?").waitFor();
  expect(await card.getByRole("button", { name: "Allow once" }).count()).toBe(0);
  await card.getByRole("button", { name: "blue" }).click();
  await answers(tab).getByText("The tool ask_user answered “blue”.").waitFor();
  expect(consoleErrors).toEqual([]);
});

test("a question takes a free answer, or is declined", async () => {
  const { tab } = await rig.openTab();
  await send(tab, question);
  const card = tab.getByRole("region", { name: "A question for you" });
  await card.getByRole("textbox", { name: "Your answer" }).fill("neither of them");
  await card.getByRole("button", { name: "Answer", exact: true }).click();
  await answers(tab).getByText("The tool ask_user answered “neither of them”.").waitFor();
  await send(tab, question);
  await card.getByRole("button", { name: "Do not answer" }).click();
  await answers(tab).getByText("The person did not want to answer").waitFor();
  expect(await card.count()).toBe(0);
});

test("an approval shows what would run and where, and a lasting approval stores the chosen rule", async () => {
  const { tab } = await rig.openTab();
  await send(tab, '{tool:terminal {"command":["echo","kelp"]}}');
  const card = tab.getByRole("region", { name: "Allow terminal?" });
  await card.getByText("Runs in this conversation's workspace").waitFor();
  await card.getByText("All of its arguments").click();
  await card.getByText(`In ${join(rig.home(), "workspaces", sessionOf(tab))}`).waitFor();
  const covers = card.getByRole("combobox", { name: "A lasting yes covers" });
  expect(await covers.inputValue()).toBe("terminal: echo kelp");
  await covers.selectOption("terminal: echo *");
  await card.getByRole("button", { name: "Always allow" }).click();
  await answers(tab).getByText("The tool terminal answered “kelp”.").waitFor();
  const listed = await rig.client().listRules();
  expect(listed.ok && listed.value.rules.map(({ rule }) => rule)).toEqual(["terminal: echo *"]);
});
