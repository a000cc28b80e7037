import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { launchBrowser } from "@holdfast/testing/browser/browser";
import { requirePage } from "./require-page.ts";
import { startHost } from "@holdfast/testing/process/start-process";
import { serveFreshHome, settingsFor } from "../served-host.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());
beforeEach(requirePage);

/** A tab with no past, and what its console had to complain about. */
async function openTab(options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  const tab = await context.newPage();
  const complaints: string[] = [];
  tab.on("pageerror", (error) => complaints.push(error.message));
  tab.on("console", (message) => {
    // Chromium itself writes down each 401 and each refused connection.
    const expected = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !expected) complaints.push(message.text());
  });
  return { tab, complaints, context };
}

const title = (tab: Page, name: string) => tab.getByRole("heading", { name });
const empty = "Conversations that hold";
const signIn = "Sign in to Holdfast";

test("the printed link signs in, leaves no code in the address, and works once", async () => {
  const { link, address } = await serveFreshHome();
  const { tab, complaints, context } = await openTab();
  await tab.goto(link);
  await title(tab, empty).waitFor();
  expect(tab.url()).toBe(address);
  expect(await tab.evaluate(() => document.cookie)).toBe("");
  expect(await context.cookies()).toMatchObject([{ httpOnly: true, sameSite: "Strict" }]);

  await tab.reload();
  await title(tab, empty).waitFor();
  expect(await tab.getByText("The host is well").count()).toBe(1);
  expect(complaints).toEqual([]);

  const later = await openTab();
  await later.tab.goto(link);
  await later.tab.getByText("This sign-in link was used before").waitFor();
  expect(later.tab.url()).toBe(address);
});

test("a link that is pasted into an open tab signs it in", async () => {
  const { link, address } = await serveFreshHome();
  const { tab } = await openTab();
  await tab.goto(address);
  await title(tab, signIn).waitFor();
  await tab.goto(link);
  await title(tab, empty).waitFor();
  expect(tab.url()).toBe(address);
});

test("the token signs in by keyboard alone, after a wrong one was refused", async () => {
  const { home, address } = await serveFreshHome();
  const { tab, complaints } = await openTab();
  await tab.goto(address);
  await title(tab, signIn).waitFor();

  await tab.keyboard.press("Tab");
  await tab.keyboard.type("not-the-token");
  await tab.keyboard.press("Enter");
  await tab.getByText("This is not the token of this host.").waitFor();

  await tab.getByLabel("Or paste the token").selectText();
  await tab.keyboard.insertText(readFileSync(join(home, "token"), "utf8"));
  await tab.keyboard.press("Enter");
  await title(tab, empty).waitFor();

  await tab.getByRole("button", { name: "Settings" }).click();
  await tab.getByRole("link", { name: "System" }).click();
  await tab.getByText("Holdfast 0.1.0").waitFor();
  await tab.getByRole("button", { name: "Sign out" }).click();
  await title(tab, signIn).waitFor();
  await tab.reload();
  await title(tab, signIn).waitFor();
  expect(complaints).toEqual([]);
});

test("a host that goes away is told, and the page comes back with it", async () => {
  const { host, home, link, address } = await serveFreshHome();
  const { tab } = await openTab();
  await tab.goto(address);
  await title(tab, signIn).waitFor();
  await host.kill();
  await tab.getByLabel("Or paste the token").fill("any");
  await tab.keyboard.press("Enter");
  await title(tab, "The host does not answer").waitFor();

  const port = new URL(link).port;
  const again = startHost(["serve", "--port", port], {
    env: settingsFor({ HOLDFAST_HOME: home }),
  });
  await again.line((line) => line.startsWith("Holdfast is at "));
  await title(tab, signIn).waitFor();
  expect(await title(tab, "The host does not answer").count()).toBe(0);
});

test("under a base path the page finds its host", async () => {
  const { link, address } = await serveFreshHome({ HOLDFAST_BASE_PATH: "/hold/fast" });
  expect(new URL(address).pathname).toBe("/hold/fast/");
  const { tab, complaints } = await openTab();
  await tab.goto(link);
  await title(tab, empty).waitFor();
  await tab.goto(address.slice(0, -1));
  await title(tab, empty).waitFor();
  expect(complaints).toEqual([]);
});
