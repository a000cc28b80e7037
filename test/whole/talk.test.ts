import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";

import { launchBrowser } from "../support/browser.ts";
import { requirePage } from "../support/page.ts";
import { serveFreshHome } from "./host.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());
beforeEach(requirePage);

test("a first conversation: begun, answered, listed, and there again after a reload", async () => {
  const { link } = await serveFreshHome();
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const tab = await context.newPage();
  const complaints: string[] = [];
  tab.on("pageerror", (error) => complaints.push(error.message));
  await tab.goto(link);

  await tab
    .getByRole("textbox", { name: "Message" })
    .fill("Tell me something {words:40} {rate:200}");
  await tab.getByRole("button", { name: "Send" }).click();

  const answer = tab.getByRole("article", { name: "Assistant" });
  await answer.waitFor();
  await tab.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "detached" });
  const said = await answer.locator(".message-body").innerText();
  expect(said.split(/\s+/).length).toBeGreaterThanOrEqual(40);
  await tab.getByRole("link", { name: /Tell me something/ }).waitFor();

  await tab.reload();
  await answer.waitFor();
  expect(await answer.locator(".message-body").innerText()).toBe(said);
  expect(complaints).toEqual([]);
});

test("[P6] a tab that is closed stops nothing, and stopping keeps what was said", async () => {
  const { link } = await serveFreshHome();
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const first = await context.newPage();
  await first.goto(link);

  await first.getByRole("textbox", { name: "Message" }).fill("{words:2000} {rate:100}");
  await first.getByRole("button", { name: "Send" }).click();
  const answer = first.getByRole("article", { name: "Assistant" });
  await answer.waitFor();
  const seen = (await answer.innerText()).trim();
  const address = first.url();
  await first.close();

  const second = await context.newPage();
  await second.goto(address);
  const again = second.getByRole("article", { name: "Assistant" });
  await again.waitFor();
  expect((await again.innerText()).startsWith(seen)).toBe(true);
  await second.getByRole("button", { name: "Stop", exact: true }).click();
  await second.getByText("Stopped here.").waitFor();
  expect((await again.innerText()).startsWith(seen)).toBe(true);
});
