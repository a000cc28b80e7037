import { randomUUID } from "node:crypto";
import { setTimeout as rest } from "node:timers/promises";
import type { Page } from "playwright-core";

import { createClient } from "@holdfast/client";
import type { SessionId } from "@holdfast/protocol";
import { launchBrowser } from "@holdfast/testing/browser/browser";
import { shownMessages, storedMessages } from "../../e2e/page/compare-messages.ts";
import { token } from "./machine.ts";

/** A person with a page in a real browser, signed in once. */
export interface Visitor {
  /** Sends messages until it is told to stop. */
  talk(stop: AbortSignal): Promise<void>;
  /** Compares the page with the log, and says how it went. */
  check(): Promise<string[]>;
  readonly sent: readonly string[];
  close(): Promise<void>;
}

const finalTimeoutMs = 90_000;

/** `pauseMs`: between two messages. A conversation that is too long for one read can't be compared. */
export async function startVisitor(address: string, pauseMs: number): Promise<Visitor> {
  const browser = await launchBrowser();
  const problems: string[] = [];
  const sent: string[] = [];
  try {
    const context = await browser.newContext();
    const origin = new URL(address).origin;
    const signedIn = await context.request.post(new URL("api/login", address).href, {
      data: { token },
      headers: { origin },
    });
    if (!signedIn.ok()) throw new Error(`The browser was not signed in: ${signedIn.status()}`);
    const tab = await context.newPage();
    tab.on("response", (response) => {
      // A page that has no key yet is refused once, and gets one.
      if (response.status() === 401 && sent.length > 0)
        problems.push(
          `the page was signed out: 401 for ${response.url()} after message ${sent.length}`,
        );
    });
    tab.on("pageerror", ({ message }) => problems.push(`the page failed: ${message}`));
    await tab.goto(address);
    await tab.getByRole("textbox", { name: "Message" }).waitFor();
    return {
      sent,
      async talk(stop) {
        while (!stop.aborted) {
          const text = `page-${randomUUID()} {rate:30} {words:40}`;
          try {
            await say(tab, text);
            await untilBegun(tab);
          } catch {
            const shown = await tab.locator("body").innerText();
            problems.push(`the page takes no message; it shows ${JSON.stringify(shown)}`);
            return;
          }
          sent.push(text);
          for (let left = pauseMs; left > 0 && !stop.aborted; left -= 500) {
            await rest(500);
            await takeOffers(tab);
          }
        }
      },
      async check() {
        return [...new Set(problems), ...(await compare(tab, address))];
      },
      close: () => browser.close(),
    };
  } catch (error) {
    await browser.close();
    throw error;
  }
}

/** What the page offers for a message that it could not deliver, and for a part of it that could not be loaded. */
const offers = ["Send now", "Reload the page"];

async function takeOffers(tab: Page): Promise<void> {
  for (const name of offers) {
    const offer = tab.getByRole("button", { name, exact: true }).first();
    if (await offer.isVisible()) await offer.click({ timeout: 1_000 }).catch(() => undefined);
  }
}

const timeoutMs = 60_000;

async function say(tab: Page, text: string): Promise<void> {
  await tab.getByRole("textbox", { name: "Message" }).fill(text, { timeout: timeoutMs });
  await tab.getByRole("button", { name: "Send", exact: true }).click({ timeout: timeoutMs });
}

/** A message with which no conversation could be begun is given back, into the field, for the person to send again. */
async function untilBegun(tab: Page): Promise<void> {
  const field = tab.getByRole("textbox", { name: "Message" });
  const until = performance.now() + timeoutMs;
  while (sessionIn(tab) === null) {
    if (performance.now() > until) throw new Error("No conversation has begun.");
    const givenBack = await field.inputValue({ timeout: timeoutMs });
    if (givenBack !== "" && sessionIn(tab) === null) await say(tab, givenBack);
    await rest(100);
  }
}

function sessionIn(tab: Page): SessionId | null {
  return new URL(tab.url()).searchParams.get("session") as SessionId | null;
}

async function compare(tab: Page, address: string): Promise<string[]> {
  const client = createClient({ baseUrl: address, token });
  const until = performance.now() + finalTimeoutMs;
  for (;;) {
    await takeOffers(tab);
    const problems = await compareOnce(tab, client).catch((error: unknown) => [
      `the page cannot be compared: ${String(error)}`,
    ]);
    if (problems.length === 0 || performance.now() > until) return problems;
    await rest(300);
  }
}

async function compareOnce(
  tab: Page,
  client: Parameters<typeof storedMessages>[0],
): Promise<string[]> {
  const id = sessionIn(tab);
  if (id === null) return ["[P1] the page has no conversation"];
  return comparePage(await shownMessages(tab), await storedMessages(client, id));
}

/** What the page says about a part that a spill has brought back. */
const withoutMarks = (text: string): string =>
  text.replaceAll(/\s*Recovered after an interruption\s*/g, " ").trim();

/** How much of a long conversation a page holds at least. */
const minShown = 8;

/** The page shows the end of what is stored, in the same order. */
export function comparePage(shown: readonly string[], stored: readonly string[]): string[] {
  const expected = stored.slice(-shown.length);
  const isSame =
    shown.length >= Math.min(minShown, stored.length) &&
    shown.length === expected.length &&
    expected.every((text, at) => withoutMarks(shown[at] ?? "").startsWith(withoutMarks(text)));
  return isSame
    ? []
    : [`[P5] the page shows ${JSON.stringify(shown)}, not ${JSON.stringify(stored)}`];
}
