import type { Seq, SessionId } from "@holdfast/protocol";
import type { BrowserContext, Page } from "playwright-core";
import { expect, test } from "vitest";

import { replaceAnswers } from "../e2e/page/page-rig.ts";
import { createPageRig, messageField, send, sessionOf, untilDone } from "../e2e/page/page-rig.ts";
import { valueOf } from "../e2e/served-host.ts";
import { fieldFacts, withoutIds } from "./facts.ts";
import { type NotedName, noteStorage } from "./note-storage.ts";
import { type OldPage, oldPageScript } from "./old-page.ts";
import { expectSurface } from "./surface.ts";

const rig = createPageRig();

interface SeenPage {
  /** Names in storage, channels and locks, including those of an old tab that is still open. */
  readonly names: readonly NotedName[];
  /** Visited addresses and link targets. */
  readonly addresses: ReadonlySet<string>;
  /** Paths of all requests. */
  readonly files: ReadonlySet<string>;
}

let seen: Promise<SeenPage> | undefined;
/** Both tests look at the same visit. */
const visit = (): Promise<SeenPage> => (seen ??= usePage());

async function usePage(): Promise<SeenPage> {
  const { tab: first, openAnother } = await rig.openTab();
  const context = first.context();
  const names: NotedName[] = [];
  const addresses = new Set<string>();
  const files = new Set<string>();
  await context.exposeFunction("noteName", (name: NotedName) => void names.push(name));
  await context.addInitScript(noteStorage);
  context.on("request", (request) => void files.add(new URL(request.url()).pathname));
  const tab = await openAnother();
  tab.on("framenavigated", (frame) => {
    if (frame === tab.mainFrame()) addresses.add(new URL(frame.url()).search);
  });

  await messageField(tab).waitFor();
  await tab.keyboard.press("Control+k");
  await tab.getByRole("combobox", { name: "Search and commands" }).fill("theme dark");
  await tab.keyboard.press("Enter");
  await send(tab, "herons {words:4}");
  await untilDone(tab);
  await followInOldTab(context, sessionOf(tab));
  await messageField(tab).fill("a draft");
  // The index is written in the background, and the page asks once.
  const findHerons = async () =>
    valueOf(await rig.client().search({ query: { q: "herons" } })).hits;
  await expect.poll(findHerons).not.toEqual([]);
  await tab.getByRole("searchbox", { name: "Search conversations" }).fill("herons");
  await tab.locator('a[href*="at="]').first().click();
  await tab.waitForURL(/at=/);
  await noteLinks(tab, addresses);
  await replaceAnswers(tab, "$$x^2$$");
  await tab.locator("iframe").waitFor({ state: "attached" });
  await tab.keyboard.press("Control+Shift+O");
  await tab.waitForURL(/from=/);
  await tab.goto(new URL("?settings=models", rig.address()).href);
  await tab.locator('a[href*="settings="]').first().waitFor();
  await noteLinks(tab, addresses);
  await requestHead(tab);
  files.add(await serviceWorkerPath(tab));
  return { names, addresses, files };
}

/**
 * Follows a session like a tab that was loaded from a 0.1.0 host and is still open. On its own such a tab is signed out by
 * the update, since it knows no page key; it must not disturb the others, nor they it.
 */
async function followInOldTab(context: BrowserContext, id: SessionId): Promise<void> {
  const oldTab = await context.newPage();
  await oldTab.addInitScript({ content: `${oldPageScript()}; self.holdfastPage = holdfastPage;` });
  await oldTab.addInitScript(() => {
    const sendAsIs = globalThis.fetch;
    globalThis.fetch = (url, init) => {
      const { key } = JSON.parse(localStorage.getItem("holdfast:page-key:/") ?? "{}") as {
        key: string;
      };
      const headers = new Headers(init?.headers);
      headers.set("x-holdfast-page-key", key);
      return sendAsIs(url, { ...init, headers });
    };
  });
  // This address loads nothing of the current page.
  await oldTab.goto(new URL("health", rig.address()).href);
  const { seq: last } = valueOf(await rig.client().readSession({ params: { id } }));
  const followed = await oldTab.evaluate(followAsOldPage, { baseUrl: rig.address(), id, last });
  expect(followed).toBe(last);
}

/** Runs in the browser. */
async function followAsOldPage(wanted: { baseUrl: string; id: SessionId; last: Seq }) {
  const { holdfastPage } = globalThis as unknown as { readonly holdfastPage: OldPage };
  const fetchShared = holdfastPage.openSharedFetch(wanted.baseUrl);
  const client = holdfastPage.createClient({ baseUrl: wanted.baseUrl, fetch: fetchShared });
  for await (const item of client.follow(wanted.id, 0 as Seq))
    if (item.kind === "event" && item.event.seq === wanted.last) return item.event.seq;
  return null;
}

/** Records the targets of links and of the document head. */
async function noteLinks(tab: Page, addresses: Set<string>): Promise<void> {
  const links = await tab
    .locator('a[href^="?"], link[href]')
    .evaluateAll((all) =>
      all.map((link) => (link.getAttribute("href") ?? "").replace(location.origin, "")),
    );
  for (const link of links) addresses.add(link);
}

/** Requests what the document head names, which a browser does when it likes, if at all. */
async function requestHead(tab: Page): Promise<void> {
  const statuses = await tab
    .locator("link[href]")
    .evaluateAll((links) =>
      Promise.all(links.map(async (link) => (await fetch((link as HTMLLinkElement).href)).status)),
    );
  expect(new Set(statuses)).toEqual(new Set([200]));
}

/** Whichever tab was first has requested it, maybe before anybody looked. */
async function serviceWorkerPath(tab: Page): Promise<string> {
  const url = await tab.evaluate(
    async () => (await navigator.serviceWorker.ready).active?.scriptURL,
  );
  return new URL(url ?? "", rig.address()).pathname;
}

test("browser storage keeps its names and fields", async () => {
  const { names } = await visit();
  const facts = names.flatMap(({ place, name, value }) => {
    const title = `${place} ${withoutIds(name.replace(rig.address(), "<address>"))}`;
    const kept: unknown = value === undefined ? undefined : JSON.parse(value);
    if (typeof kept === "string") return [`${title} may be ${kept}`];
    return [title, ...fieldFacts(title, kept)];
  });
  expectSurface("browser storage", facts);
});

test("the page keeps its addresses and file names", async () => {
  const { addresses, files } = await visit();
  const own = [...files].filter((path) => !/^\/(?:api\/|health)/.test(path));
  const facts = [...addresses, ...own].map((address) =>
    withoutIds(address)
      .replace(/at=\d+/, "at=<n>")
      .replace(/assets\/.*/, "assets/<file>"),
  );
  expectSurface("page addresses", facts);
});
