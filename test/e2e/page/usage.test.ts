import { expect, test } from "vitest";
import { createPageRig, send, untilDone } from "./page-rig.ts";

const rig = createPageRig();

test("usage is plotted by day and listed by model and conversation, also on a small screen", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, "count this {words:20}");
  await untilDone(tab);
  await tab.goto(new URL("?settings=usage", tab.url()).href);
  await tab.getByRole("img", { name: "Tokens per day, Last 30 days" }).waitFor();
  const models = tab.getByRole("region", { name: "By model" });
  await models.getByRole("row").nth(1).waitFor();
  const link = tab.getByRole("region", { name: "By conversation" }).getByRole("link").first();
  await link.waitFor();
  await tab.getByText("Show as a table").click();
  expect(await tab.getByRole("region", { name: "By day" }).getByRole("row").count()).toBe(2);
  await tab.setViewportSize({ width: 360, height: 740 });
  const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(overflow).toBeLessThanOrEqual(0);
  await tab.getByRole("combobox", { name: "Period" }).selectOption("7");
  await tab.getByRole("img", { name: "Tokens per day, Last 7 days" }).waitFor();
  await link.click();
  await tab.getByRole("article", { name: "You" }).getByText("count this").waitFor();
  expect(consoleErrors).toEqual([]);
});
