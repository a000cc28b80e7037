import { expect, test } from "vitest";
import { valueOf } from "../served-host.ts";
import { createPageRig, send } from "./page-rig.ts";

const rig = createPageRig();

const settingNamed = async (name: string) =>
  valueOf(await rig.client().listSettings()).settings.find((setting) => setting.name === name);

test("a limit on what an answer may cost is set on the page, applies at once, and is lifted there", async () => {
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=usage" });
  const label = "For one answer, including delegated tasks";
  const limit = tab.getByRole("spinbutton", { name: label });
  const form = tab.locator("form", { has: limit });
  const reset = tab.getByRole("button", { name: `Reset ${label} to default` });
  await limit.fill("0");
  await form.getByRole("button", { name: "Save", exact: true }).click();
  await reset.waitFor();
  expect(await settingNamed("spendPerRun")).toMatchObject({ value: 0, effect: "now" });
  const talk = await rig.openTab();
  await send(talk.tab, "Tell me about tides {words:20}");
  await talk.tab.getByText("The run reached a limit.", { exact: false }).waitFor();

  await tab.reload();
  expect(await limit.inputValue()).toBe("0");
  await limit.fill("");
  await form.getByRole("button", { name: "Save", exact: true }).click();
  await reset.waitFor({ state: "detached" });
  expect(await settingNamed("spendPerRun")).toMatchObject({ value: null });
  expect([...consoleErrors, ...talk.consoleErrors]).toEqual([]);
});

test("the models for titles and for failures are chosen on the page", async () => {
  const { tab, consoleErrors } = await rig.openTab({ at: "?settings=models" });
  const choice = (name: string) => tab.getByRole("combobox", { name });
  await choice("For titles and summaries").selectOption("rehearsal");
  await tab.getByRole("button", { name: "Reset For titles and summaries to default" }).waitFor();
  await choice("When the chosen model can’t answer").selectOption("rehearsal");
  await tab
    .getByRole("button", { name: "Reset When the chosen model can’t answer to default" })
    .waitFor();
  expect(await settingNamed("smallModel")).toMatchObject({ value: "rehearsal" });
  expect(await settingNamed("modelFallback")).toMatchObject({ value: ["rehearsal"] });
  expect(consoleErrors).toEqual([]);
});
