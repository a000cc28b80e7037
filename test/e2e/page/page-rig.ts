import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished } from "vitest";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, createClient } from "@holdfast/client";
import {
  type MessageEntry,
  type SessionId,
  textOf,
  type EntryView,
  type SessionRead,
  sessionRead,
} from "@holdfast/protocol";
import { makeFolder, settingsFor } from "../served-host.ts";
import { launchBrowser } from "@holdfast/testing/browser/browser";
import { findFreePort } from "@holdfast/testing/process/free-port";
import { requirePage } from "./require-page.ts";
import { type StartedProcess, startHost } from "@holdfast/testing/process/start-process";

/** One browser and one host for a file of tests; each test has tabs of its own. */
export interface PageRig {
  readonly address: () => string;
  readonly home: () => string;
  readonly client: () => Client;
  /** A tab of somebody who is signed in, and what its console had to complain about. */
  readonly openTab: (options?: TabOptions) => Promise<Tab>;
  /** `kill -9`. */
  readonly kill: () => Promise<void>;
  /** Serves the same home on the same port again. */
  readonly serveAgain: (settings?: Record<string, string>) => Promise<void>;
}

interface TabOptions extends BrowserContextOptions {
  readonly at?: string;
  /** Another address of the same host. */
  readonly through?: string;
}

export interface Tab {
  readonly tab: Page;
  readonly complaints: string[];
  /** A second tab in the same browser, signed in like the first. */
  readonly another: (at?: string) => Promise<Page>;
}

export function createPageRig(settings: Record<string, string> = {}): PageRig {
  let browser: Browser;
  let host: StartedProcess;
  let address = "";
  let home = "";
  let token = "";
  const ends: (() => void | Promise<void>)[] = [];
  const whenOver = (end: () => void | Promise<void>): void => void ends.unshift(end);

  async function serve(more: Record<string, string>): Promise<void> {
    const env = settingsFor({ HOLDFAST_HOME: home, ...settings, ...more });
    host = startHost(["serve"], { env, onCleanup: whenOver });
    const line = await host.line((text) => text.startsWith("Holdfast is at "));
    address = /^Holdfast is at ([^\s#]+)/.exec(line)?.[1] ?? "";
    token = readFileSync(join(home, "token"), "utf8").trim();
  }

  beforeAll(async () => {
    home = join(makeFolder(whenOver), "home");
    const port = String(await findFreePort());
    [browser] = await Promise.all([launchBrowser(), serve({ HOLDFAST_PORT: port })]);
  });
  afterAll(async () => {
    await browser.close();
    for (const end of ends) await end();
  });
  beforeEach(requirePage);

  return {
    address: () => address,
    home: () => home,
    client: () => createClient({ baseUrl: address, token }),
    async openTab({ at = "", through = address, ...options } = {}) {
      const context = await browser.newContext(options);
      onTestFinished(() => context.close());
      // Below the limit of a test, so that a failure names what was waited for.
      context.setDefaultTimeout(25_000);
      await context.request.post(new URL("api/login", through).href, {
        data: { token },
        headers: { origin: new URL(through).origin },
      });
      const complaints: string[] = [];
      const another = async (place = ""): Promise<Page> => {
        const tab = await context.newPage();
        tab.on("pageerror", (error) => complaints.push(error.message));
        tab.on("console", (message) => {
          // Chromium itself writes down each refused connection.
          const expected = message.text().startsWith("Failed to load resource");
          if (message.type() === "error" && !expected) complaints.push(message.text());
        });
        await tab.goto(new URL(place, through).href);
        return tab;
      };
      return { tab: await another(at), complaints, another };
    },
    kill: async () => void (await host.kill()),
    serveAgain: (more = {}) => serve({ HOLDFAST_PORT: new URL(address).port, ...more }),
  };
}

export const messageField = (tab: Page): Locator => tab.getByRole("textbox", { name: "Message" });
export const stopButton = (tab: Page): Locator =>
  tab.getByRole("button", { name: "Stop", exact: true });
export const answers = (tab: Page): Locator => tab.getByRole("article", { name: "Assistant" });

export async function say(tab: Page, text: string): Promise<void> {
  await messageField(tab).fill(text);
  await tab.getByRole("button", { name: "Send", exact: true }).click();
}

/** Waits until the run that the page shows is over. */
export async function untilDone(tab: Page, count = 1): Promise<void> {
  await answers(tab)
    .nth(count - 1)
    .waitFor();
  await tab.locator(".strip .dot").waitFor({ state: "detached" });
}

export function sessionOf(tab: Page): SessionId {
  return new URL(tab.url()).searchParams.get("session") as SessionId;
}

/** What stands on the screen, message by message, without regard to blanks. */
export function shown(tab: Page): Promise<string[]> {
  return tab
    .locator(".message .message-body")
    .evaluateAll((bodies) =>
      bodies.map((body) => (body instanceof HTMLElement ? body.innerText : "")),
    )
    .then((texts) => texts.map(squeeze));
}

/** What is stored, in the same form. */
export async function stored(client: Client, id: SessionId): Promise<string[]> {
  const read = await client.readSession({ params: { id } });
  if (!read.ok) throw new Error(JSON.stringify(read.error));
  return (
    read.value.entries
      .filter((entry): entry is MessageEntry => entry.type === "message")
      // A tool's results stand with the calls that asked for them.
      .filter(({ role }) => role !== "tool")
      .map(({ parts }) => squeeze(textOf(parts.filter((part) => part.type === "text"))))
  );
}

function squeeze(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** P5: what is shown is what is stored, each message and in order. */
export async function expectShownIsStored(tab: Page, client: Client): Promise<void> {
  const id = sessionOf(tab);
  await expect
    .poll(async () => [await shown(tab), await stored(client, id)])
    .toSatisfy(
      ([onScreen, inStore]: [string[], string[]]) =>
        onScreen.length === inStore.length &&
        inStore.every((text, index) => onScreen[index]?.startsWith(text) === true),
    );
}

/** The conversation as the host answers it, with what another model would have said in place of what was said. */
export async function replaceAnswers(tab: Page, text: string): Promise<void> {
  await tab.route(/\/api\/sessions\/ses_[^/?]+(\?.*)?$/, async (route) => {
    const answer = await route.fetch();
    const read: SessionRead = sessionRead.parse(await answer.json());
    const entries = read.entries.map((entry): EntryView =>
      entry.type === "message" && entry.role === "assistant"
        ? { ...entry, parts: [{ type: "text", text }] }
        : entry,
    );
    await route.fulfill({ response: answer, json: { ...read, entries } });
  });
  await tab.reload();
  await answers(tab).waitFor();
}
