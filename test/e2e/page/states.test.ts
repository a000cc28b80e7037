import axe from "axe-core";
import { type EntryView, sessionRead } from "@holdfast/protocol";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { createPageRig } from "./page-rig.ts";
import { diagramAnswer, knotAnswer, markdownAnswer, tidesAnswer } from "./sample-answers.ts";
import { hindrance } from "./states/in-view.ts";
import { smallTargets } from "./states/small-targets.ts";
import { prepareStates, sessionNamed } from "./states/prepare-states.ts";
import type { Size, State } from "./states/state.ts";
import { states } from "./states/state-list.ts";

const rig = createPageRig();
/** Where to save screenshots of the states, such as `docs/images`; unset, none are taken. */
const screenshotFolder = process.env["HOLDFAST_TEST_PICTURES"];

beforeAll(() => prepareStates(rig.client(), dirname(rig.home())));

/** What the rehearsal model answers says little: it writes no tables or code. */
const answers = new Map([
  ["story", markdownAnswer],
  ["drawn", diagramAnswer],
  ["edited", knotAnswer],
  ["stopped", tidesAnswer],
]);

/** Shows what people would see: texts without directives for the rehearsal model, and the folders of a person. */
async function showAsAtHome(tab: Page): Promise<void> {
  const folder = dirname(rig.home());
  const answerOf = new Map(
    [...answers].map(([name, answer]) => [String(sessionNamed(name)), answer]),
  );
  const withoutDirectives = (text: string): string => text.replace(/\s*\{.*$/s, "");
  const shown = (entry: EntryView, answer: string | undefined): EntryView => {
    if (entry.type !== "message" || entry.role === "tool") return entry;
    const parts = entry.parts.map((part) => {
      if (part.type !== "text") return part;
      const text = entry.role === "user" ? withoutDirectives(part.text) : (answer ?? part.text);
      return { ...part, text };
    });
    return { ...entry, parts };
  };
  await tab.route("**/api/**", async (route) => {
    const { pathname } = new URL(route.request().url());
    if (route.request().method() !== "GET" || pathname.endsWith("/events")) return route.fallback();
    const response = await route.fetch();
    if (response.headers()["content-type"]?.includes("json") !== true)
      return route.fulfill({ response });
    const text = (await response.text())
      .replaceAll(rig.home(), "/home/ada/.holdfast")
      .replaceAll(folder, "/home/ada");
    const id = /^\/api\/sessions\/(ses_[^/]+)$/.exec(pathname)?.[1];
    if (id === undefined) return route.fulfill({ response, body: text });
    const read = sessionRead.parse(JSON.parse(text));
    const entries = read.entries.map((entry) => shown(entry, answerOf.get(id)));
    return route.fulfill({ response, json: { ...read, entries } });
  });
}

/** Violations of WCAG 2.2 A and AA. */
async function accessibilityViolations(tab: Page): Promise<string[]> {
  await tab.evaluate(axe.source);
  return tab.evaluate(async () => {
    // Loaded by the line above.
    const { axe: loadedAxe } = window as unknown as { axe: typeof axe };
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    const { violations } = await loadedAxe.run(document, {
      runOnly: { type: "tag", values: tags },
    });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  });
}

async function saveScreenshot(tab: Page, name: string): Promise<void> {
  if (screenshotFolder === undefined) return;
  mkdirSync(screenshotFolder, { recursive: true });
  await tab.screenshot({ path: join(screenshotFolder, `${name}.png`) });
}

/** What would keep somebody from using the state on this screen. */
async function faultsOf(tab: Page, state: State, width: number): Promise<string[]> {
  const faults: string[] = [];
  const scrollWidth = await tab.evaluate(() => document.documentElement.scrollWidth);
  if (scrollWidth !== width) faults.push(`${scrollWidth} px wide in a window of ${width} px`);
  for (const [index, locator] of state.inView(tab).entries()) {
    const fault = await hindrance(locator);
    if (fault !== undefined) faults.push(`inView[${index}]: ${fault}`);
  }
  if (width < 600) faults.push(...(await smallTargets(tab)));
  return [...faults, ...(await accessibilityViolations(tab))].map(
    (fault) => `${state.name}: ${fault}`,
  );
}

const viewports: Readonly<Record<Size, { width: number; height: number }>> = {
  desk: { width: 1280, height: 800 },
  phone: { width: 360, height: 720 },
  wide: { width: 1920, height: 1080 },
};

const variants = [
  ["light", "desk"],
  ["dark", "phone"],
  ["light", "wide"],
  ["dark", "desk"],
  ["light", "phone"],
  ["dark", "wide"],
] as const;

const batchSize = 6;
// The first three cover both colour schemes and all sizes; the others are for screenshots.
const batches = (screenshotFolder === undefined ? variants.slice(0, 3) : variants).flatMap(
  ([colorScheme, size]) => {
    const applicable = states.filter(({ sizes }) => sizes.includes(size));
    return Array.from({ length: Math.ceil(applicable.length / batchSize) }, (_, batch) => {
      const batchStates = applicable.slice(batch * batchSize, (batch + 1) * batchSize);
      const names = batchStates.map(({ name }) => name).join(", ");
      return { colorScheme, size, batchStates, names };
    });
  },
);

test.each(batches)(
  "these states fit the screen and are accessible: $colorScheme, $size, $names",
  async ({ colorScheme, size, batchStates }) => {
    const viewport = viewports[size];
    const { tab, consoleErrors } = await rig.openTab({
      colorScheme,
      viewport,
      reducedMotion: "reduce",
      ...(size === "phone" && { hasTouch: true, isMobile: true }),
    });
    await showAsAtHome(tab);
    const faults: string[] = [];
    for (const state of batchStates) {
      await tab.goto(new URL(state.at(), rig.address()).href);
      await state.show(tab).catch((error: unknown) => {
        throw new Error(`${state.name}: ${String(error)}`, { cause: error });
      });
      await saveScreenshot(tab, `${state.name}-${colorScheme}-${size}`);
      faults.push(...(await faultsOf(tab, state, viewport.width)));
    }
    expect([...faults, ...consoleErrors]).toEqual([]);
  },
);
