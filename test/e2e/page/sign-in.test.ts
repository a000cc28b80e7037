import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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

/** Opens a fresh tab and records its console errors. */
async function openTab(options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  const tab = await context.newPage();
  const consoleErrors: string[] = [];
  tab.on("pageerror", (error) => consoleErrors.push(error.message));
  tab.on("console", (message) => {
    // Chromium logs each 401 and each refused connection.
    const expected = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !expected) consoleErrors.push(message.text());
  });
  return { tab, consoleErrors, context };
}

const heading = (tab: Page, name: string) => tab.getByRole("heading", { name });
const startTitle = "What can I help with?";
const signInTitle = "Sign in to Holdfast";

test("the printed link signs in, leaves no code in the address, and works once", async () => {
  const { link, address } = await serveFreshHome();
  const { tab, consoleErrors, context } = await openTab();
  await tab.goto(link);
  await heading(tab, startTitle).waitFor();
  expect(tab.url()).toBe(address);
  expect(await tab.evaluate(() => document.cookie)).toBe("");
  expect(await context.cookies()).toMatchObject([{ httpOnly: true, sameSite: "Strict" }]);

  await tab.reload();
  await heading(tab, startTitle).waitFor();
  expect(await tab.getByText("Host is running").count()).toBe(1);
  expect(consoleErrors).toEqual([]);

  const later = await openTab();
  await later.tab.goto(link);
  await later.tab.getByText("This sign-in link has already been used").waitFor();
  expect(later.tab.url()).toBe(address);
});

test("[safety] another server on the host's name gets the cookie, and can do nothing with it", async () => {
  const { link, address } = await serveFreshHome();
  const cookies: string[] = [];
  const other = createServer((request, response) => {
    cookies.push(request.headers.cookie ?? "");
    response.end("an agent's page");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { tab, context } = await openTab();
  await tab.goto(link);
  await heading(tab, startTitle).waitFor();
  const second = await context.newPage();
  await second.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
  const cookie = cookies[0] ?? "";
  expect(cookie).toContain(`holdfast_${new URL(address).port}=`);

  const { origin } = new URL(address);
  const ask = async (path: string, init: RequestInit = {}) =>
    (
      await fetch(new URL(path, address), {
        ...init,
        headers: { cookie, origin, "content-type": "application/json" },
      })
    ).status;
  const pageKey = "k".repeat(43);
  expect(await ask("api/principal")).toBe(401);
  expect(await ask("api/sessions")).toBe(401);
  const body = JSON.stringify({ password: "correct horse" });
  expect(await ask("api/password", { method: "PUT", body })).toBe(401);
  const claim = { method: "POST", body: JSON.stringify({ pageKey }) };
  expect(await ask("api/login", claim)).toBe(401);

  await tab.reload();
  await heading(tab, startTitle).waitFor();
});

test("a browser that signed in before there were page keys stays signed in", async () => {
  const { home, address } = await serveFreshHome();
  const { tab, context } = await openTab();
  const token = readFileSync(join(home, "token"), "utf8").trim();
  await context.request.post(new URL("api/login", address).href, {
    data: { token },
    headers: { origin: new URL(address).origin },
  });
  expect((await context.request.get(new URL("api/principal", address).href)).status()).toBe(401);
  await tab.goto(address);
  await heading(tab, startTitle).waitFor();
  await tab.reload();
  await heading(tab, startTitle).waitFor();
});

test("a link pasted into an open tab signs it in", async () => {
  const { link, address } = await serveFreshHome();
  const { tab } = await openTab();
  await tab.goto(address);
  await heading(tab, signInTitle).waitFor();
  await tab.goto(link);
  await heading(tab, startTitle).waitFor();
  expect(tab.url()).toBe(address);
});

test("the token signs in by keyboard alone, after a wrong token was refused", async () => {
  const { home, address } = await serveFreshHome();
  const { tab, consoleErrors } = await openTab();
  await tab.goto(address);
  await heading(tab, signInTitle).waitFor();

  await tab.keyboard.press("Tab");
  await tab.keyboard.type("not-the-token");
  await tab.keyboard.press("Enter");
  await tab.getByText("Wrong token.").waitFor();

  await tab.getByLabel("Or paste your token").selectText();
  await tab.keyboard.insertText(readFileSync(join(home, "token"), "utf8"));
  await tab.keyboard.press("Enter");
  await heading(tab, startTitle).waitFor();

  await tab.getByRole("button", { name: "Settings" }).click();
  await tab.getByRole("link", { name: "System" }).click();
  await tab.getByText("Holdfast 0.1.0").waitFor();
  await tab.getByRole("button", { name: "Sign out" }).click();
  await heading(tab, signInTitle).waitFor();
  await tab.reload();
  await heading(tab, signInTitle).waitFor();
  expect(consoleErrors).toEqual([]);
});

test("the page says that the host is gone, and recovers with it", async () => {
  const { host, home, link, address } = await serveFreshHome();
  const { tab } = await openTab();
  await tab.goto(address);
  await heading(tab, signInTitle).waitFor();
  await host.kill();
  await tab.getByLabel("Or paste your token").fill("any");
  await tab.keyboard.press("Enter");
  await heading(tab, "Can't reach the host").waitFor();

  const port = new URL(link).port;
  const restarted = startHost(["serve", "--port", port], {
    env: settingsFor({ HOLDFAST_HOME: home }),
  });
  await restarted.line((line) => line.startsWith("Holdfast is at "));
  await heading(tab, signInTitle).waitFor();
  expect(await heading(tab, "Can't reach the host").count()).toBe(0);
});

test("the page finds its host under a base path", async () => {
  const { link, address } = await serveFreshHome({ HOLDFAST_BASE_PATH: "/hold/fast" });
  expect(new URL(address).pathname).toBe("/hold/fast/");
  const { tab, consoleErrors } = await openTab();
  await tab.goto(link);
  await heading(tab, startTitle).waitFor();
  await tab.goto(address.slice(0, -1));
  await heading(tab, startTitle).waitFor();
  expect(consoleErrors).toEqual([]);
});
