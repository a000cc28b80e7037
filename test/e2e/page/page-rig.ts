import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished } from "vitest";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, createClient } from "@holdfast/client";
import { type SessionId, type EntryView, type SessionRead, sessionRead } from "@holdfast/protocol";
import { makeFolder, settingsFor } from "../served-host.ts";
import { launchBrowser } from "@holdfast/testing/browser/browser";
import { findFreePort } from "@holdfast/testing/process/free-port";
import { shownMessages, storedMessages } from "./compare-messages.ts";
import { requirePage } from "./require-page.ts";
import { type StartedProcess, startHost } from "@holdfast/testing/process/start-process";

/** One browser and one host per test file; each test opens its own tabs. */
export interface PageRig {
  readonly address: () => string;
  readonly home: () => string;
  readonly client: () => Client;
  /** Opens a signed-in tab, and records its console errors. */
  readonly openTab: (options?: TabOptions) => Promise<Tab>;
  /** `kill -9`. */
  readonly kill: () => Promise<void>;
  /** Serves the same home on the same port again. */
  readonly restart: (settings?: Record<string, string>) => Promise<void>;
}

interface TabOptions extends BrowserContextOptions {
  /** Relative to the address of the host. */
  readonly at?: string;
  /** Another address of the same host, such as a proxy. */
  readonly through?: string;
}

export interface Tab {
  readonly tab: Page;
  readonly consoleErrors: string[];
  /** A second tab in the same browser, signed in like the first. */
  readonly openAnother: (at?: string) => Promise<Page>;
}

type Settings = Readonly<Record<string, string>>;
type OnCleanup = (cleanup: () => void | Promise<void>) => void;

/** Settings that need a resource, such as a database, are made when the tests begin. */
export function createPageRig(
  settings: Settings | ((onCleanup: OnCleanup) => Promise<Settings>) = {},
): PageRig {
  let browser: Browser;
  let chosen: Settings = {};
  let host: StartedProcess;
  let address = "";
  let home = "";
  let token = "";
  const cleanups: (() => void | Promise<void>)[] = [];
  const onCleanup: OnCleanup = (cleanup) => void cleanups.unshift(cleanup);

  async function serve(overrides: Settings): Promise<void> {
    const env = settingsFor({ HOLDFAST_HOME: home, ...chosen, ...overrides });
    host = startHost(["serve"], { env, onCleanup });
    const line = await host.line((text) => text.startsWith("Holdfast is at "));
    address = /^Holdfast is at ([^\s#]+)/.exec(line)?.[1] ?? "";
    token = readFileSync(join(home, "token"), "utf8").trim();
  }

  beforeAll(async () => {
    home = join(makeFolder(onCleanup), "home");
    chosen = typeof settings === "function" ? await settings(onCleanup) : settings;
    const port = String(await findFreePort());
    [browser] = await Promise.all([launchBrowser(), serve({ HOLDFAST_PORT: port })]);
  });
  afterAll(async () => {
    await browser.close();
    for (const cleanup of cleanups) await cleanup();
  });
  beforeEach(requirePage);

  return {
    address: () => address,
    home: () => home,
    client: () => createClient({ baseUrl: address, token }),
    async openTab({ at = "", through = address, ...options } = {}) {
      const context = await browser.newContext(options);
      onTestFinished(async () => {
        // A route may still be fetching when the test ends; closing the context fails that fetch.
        for (const tab of context.pages()) await tab.unrouteAll({ behavior: "ignoreErrors" });
        await context.close();
      });
      // Below the timeout of a test, so that a failure names the locator.
      context.setDefaultTimeout(25_000);
      await context.request.post(new URL("api/login", through).href, {
        data: { token },
        headers: { origin: new URL(through).origin },
      });
      const consoleErrors: string[] = [];
      const openAnother = async (path = ""): Promise<Page> => {
        const tab = await context.newPage();
        tab.on("pageerror", (error) => consoleErrors.push(error.message));
        tab.on("console", (message) => {
          // Chromium logs each refused connection.
          const expected = message.text().startsWith("Failed to load resource");
          if (message.type() === "error" && !expected) consoleErrors.push(message.text());
        });
        await tab.goto(new URL(path, through).href);
        return tab;
      };
      return { tab: await openAnother(at), consoleErrors, openAnother };
    },
    kill: async () => void (await host.kill()),
    restart: (overrides = {}) => serve({ HOLDFAST_PORT: new URL(address).port, ...overrides }),
  };
}

export const messageField = (tab: Page): Locator => tab.getByRole("textbox", { name: "Message" });
export const stopButton = (tab: Page): Locator =>
  tab.getByRole("button", { name: "Stop", exact: true });
export const answers = (tab: Page): Locator => tab.getByRole("article", { name: "Assistant" });

export async function send(tab: Page, text: string): Promise<void> {
  await messageField(tab).fill(text);
  await tab.getByRole("button", { name: "Send", exact: true }).click();
}

/** Waits for this many answers and for the end of the run. */
export async function untilDone(tab: Page, count = 1): Promise<void> {
  await answers(tab)
    .nth(count - 1)
    .waitFor();
  await tab.locator(".strip .dot").waitFor({ state: "detached" });
}

export function sessionOf(tab: Page): SessionId {
  return new URL(tab.url()).searchParams.get("session") as SessionId;
}

/** P5: the page shows every stored message, in order. */
export async function expectShownIsStored(tab: Page, client: Client): Promise<void> {
  const id = sessionOf(tab);
  await expect
    .poll(async () => [await shownMessages(tab), await storedMessages(client, id)])
    .toSatisfy(
      ([onScreen, inStore]: [string[], string[]]) =>
        onScreen.length === inStore.length &&
        inStore.every((text, index) => onScreen[index]?.startsWith(text) === true),
    );
}

/** Reloads the conversation with this text as every answer, as if another model had written it. */
export async function replaceAnswers(tab: Page, text: string): Promise<void> {
  await tab.route(/\/api\/sessions\/ses_[^/?]+(\?.*)?$/, async (route) => {
    const response = await route.fetch();
    const read: SessionRead = sessionRead.parse(await response.json());
    const entries = read.entries.map((entry): EntryView =>
      entry.type === "message" && entry.role === "assistant"
        ? { ...entry, parts: [{ type: "text", text }] }
        : entry,
    );
    await route.fulfill({ response, json: { ...read, entries } });
  });
  await tab.reload();
  await answers(tab).waitFor();
}
