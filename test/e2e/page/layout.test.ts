import type { SessionId } from "@holdfast/protocol";
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { valueOf } from "../served-host.ts";
import { importConversation } from "./long-conversation.ts";
import { answers, createPageRig, messageField, send, untilDone } from "./page-rig.ts";

const rig = createPageRig();
let long: SessionId;

beforeAll(async () => {
  const texts = Array.from({ length: 500 }, (_, n) => `Message ${n}. `.repeat(20));
  long = await importConversation(rig.client(), "Five hundred", texts);
});

async function isInWindow(tab: Page, locator: Locator): Promise<boolean> {
  const [box, size] = [await locator.boundingBox(), tab.viewportSize()];
  if (box === null || size === null) return false;
  return (
    box.x >= 0 && box.y >= 0 && box.x + box.width <= size.width && box.y + box.height <= size.height
  );
}

/** In whole pixels: rows are placed at whole ones, and what stands for them before that is not. */
async function placeOf(locator: Locator): Promise<readonly number[]> {
  const { x, y, width, height } = (await locator.boundingBox()) ?? {
    x: 0,
    y: 0,
    width: 0,
    height: 0,
  };
  return [x, y, width, height].map(Math.round);
}

/** Whatever can stand beside, above or below the conversation. */
const openings: readonly { readonly name: string; readonly open: (tab: Page) => Promise<void> }[] =
  [
    { name: "nothing", open: async () => {} },
    {
      name: "the context",
      async open(tab) {
        await tab.getByRole("button", { name: "Show context" }).click();
        await tab.getByRole("complementary", { name: "Context" }).waitFor();
      },
    },
    {
      name: "the find bar",
      async open(tab) {
        await tab.keyboard.press("Escape");
        await tab.keyboard.press("Control+f");
        await tab.getByRole("search", { name: "Find in conversation" }).waitFor();
        await tab.keyboard.type("Message 3.");
        await tab
          .getByText(/^1( of 1 message|\/1)$/)
          .filter({ visible: true })
          .waitFor();
      },
    },
  ];

const viewports = [
  { width: 360, height: 720 },
  { width: 640, height: 400 },
  { width: 800, height: 600 },
  { width: 960, height: 540 },
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
];

// 640 x 400 and 960 x 540 are 1280 x 800 and 1920 x 1080 at 200 % zoom.
test.each(viewports)(
  "the message field stays in view in a conversation of 500 messages, whatever is open: $width x $height",
  async (viewport) => {
    const { tab } = await rig.openTab({
      at: `?session=${long}`,
      viewport,
      reducedMotion: "reduce",
    });
    await answers(tab).last().waitFor();
    for (const { name, open } of openings) {
      await open(tab);
      expect([name, await isInWindow(tab, messageField(tab))]).toEqual([name, true]);
      const width = await tab.evaluate(() => document.documentElement.scrollWidth);
      expect([name, width]).toEqual([name, viewport.width]);
    }
  },
);

test("the first message stays in view and in place while the host takes its time", async () => {
  const { tab } = await rig.openTab({ reducedMotion: "reduce" });
  const gates = {
    create: Promise.withResolvers<void>(),
    read: Promise.withResolvers<void>(),
    send: Promise.withResolvers<void>(),
  };
  await tab.route(/\/api\/sessions(\/ses_\w+(\/messages)?)?$/, async (route) => {
    const [method, { pathname }] = [route.request().method(), new URL(route.request().url())];
    if (pathname.endsWith("/messages")) await gates.send.promise;
    else if (pathname.includes("/ses_")) await gates.read.promise;
    else if (method === "POST") await gates.create.promise;
    await route.continue();
  });
  const words = "Stay where you are {words:3}";
  const bubble = tab.locator(".message.user .message-body", { hasText: words });
  await send(tab, words);
  await bubble.waitFor();
  const first = await placeOf(bubble);
  gates.create.resolve();
  await tab.waitForURL(/session=ses_/);
  await expect.poll(() => placeOf(bubble)).toEqual(first);
  gates.read.resolve();
  await tab.getByRole("log").waitFor();
  await expect.poll(() => placeOf(bubble)).toEqual(first);
  gates.send.resolve();
  await tab.getByRole("article", { name: "You" }).waitFor();
  await expect.poll(() => placeOf(bubble)).toEqual(first);
  await untilDone(tab);
  await expect.poll(() => placeOf(bubble)).toEqual(first);
});

test("a toast does not cover the message field", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "/nonsense");
  const toast = tab.locator(".toast", { hasText: "Unknown command" });
  const [box, field] = [await toast.boundingBox(), await messageField(tab).boundingBox()];
  expect(box !== null && field !== null && box.y + box.height <= field.y).toBe(true);
});

test("a toast covers no heading of the settings", async () => {
  const { tab } = await rig.openTab({ at: "?settings=memory" });
  await tab.getByLabel("New fact").fill("I have a boat");
  await tab.getByRole("button", { name: "Add a fact" }).click();
  const toast = await tab.locator(".toast").boundingBox();
  const headings = tab.getByRole("main").locator("h1, h2");
  await headings.last().waitFor();
  const covered = await headings.evaluateAll(
    (all, box) =>
      all
        .filter((heading) => {
          const { top, bottom } = heading.getBoundingClientRect();
          return box !== null && top < box.y + box.height && bottom > box.y;
        })
        .map((heading) => heading.textContent),
    toast,
  );
  expect([toast !== null, covered]).toEqual([true, []]);
});

test("a heading is closer to what follows it than to what stands above", async () => {
  const id = await importConversation(rig.client(), "Headings", [
    "Tell me",
    "One paragraph.\n\n## A heading\n\nAnother paragraph.",
  ]);
  const { tab } = await rig.openTab({ at: `?session=${id}` });
  const heading = await tab.getByRole("heading", { name: "A heading" }).boundingBox();
  const above = await tab.getByText("One paragraph.", { exact: true }).boundingBox();
  const below = await tab.getByText("Another paragraph.", { exact: true }).boundingBox();
  if (heading === null || above === null || below === null) throw new Error("nothing is shown");
  const gapAbove = heading.y - (above.y + above.height);
  const gapBelow = below.y - (heading.y + heading.height);
  expect(gapAbove).toBeGreaterThan(1.5 * gapBelow);
});

test("the examples on a wide screen stand in even rows", async () => {
  const { tab } = await rig.openTab({ viewport: { width: 1920, height: 1080 } });
  await tab.locator(".example").last().waitFor();
  const tops = await tab
    .locator(".example")
    .evaluateAll((all) => all.map((item) => item.getBoundingClientRect().top));
  const rows = [...Map.groupBy(tops, (top) => top).values()].map((row) => row.length);
  expect(rows).toEqual([2, 2]);
});

test.each([360, 1280, 1920])("the status of the models is in view at %i px", async (width) => {
  const { tab } = await rig.openTab({
    at: "?settings=models",
    viewport: { width, height: 800 },
  });
  const table = tab.getByRole("region", { name: "Models", exact: true });
  await table.getByRole("cell", { name: "Default" }).waitFor();
  const hidden = await table.evaluate((box) => box.scrollWidth - box.clientWidth);
  expect(hidden).toBe(0);
});

test("what a new conversation begins with can be read in full at 360 px", async () => {
  const { tab } = await rig.openTab({ viewport: { width: 360, height: 720 } });
  const labels = tab.locator(".composer-foot button span:visible");
  await tab.getByRole("button", { name: "Own folder. Folder" }).waitFor();
  await tab.getByRole("button", { name: "Rehearsal. Model" }).waitFor();
  const cut = await labels.evaluateAll((spans) =>
    spans.filter((span) => span.scrollWidth > span.clientWidth).map((span) => span.textContent),
  );
  expect(await labels.allTextContents()).toEqual(["Ask", "Own folder", "Rehearsal"]);
  expect(cut).toEqual([]);
  // However many menus there are, they take one row above the others.
  const composer = tab.locator(".composer");
  const { height = 0 } = (await composer.boundingBox()) ?? {};
  valueOf(await rig.client().addPersona({ body: { name: "Pilot", text: "You are a pilot." } }));
  valueOf(await rig.client().addProject({ body: { name: "Tide tables" } }));
  await tab.reload();
  await tab.getByRole("button", { name: /Project for the new conversation$/ }).waitFor();
  await tab.getByRole("button", { name: /Persona for the new conversation$/ }).waitFor();
  expect((await composer.boundingBox())?.height).toBe(height);
});

test("the list of settings does not reach into the page beside it", async () => {
  const { tab } = await rig.openTab({
    at: "?settings=agent",
    viewport: { width: 1280, height: 800 },
  });
  const nav = tab.getByRole("navigation", { name: "Settings" });
  await nav.getByRole("link", { name: "Instructions and projects" }).waitFor();
  expect(await nav.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
});

test("mode and model of a conversation can be read in full at 360 px, the mode also while it answers", async () => {
  const { tab } = await rig.openTab({ viewport: { width: 360, height: 720 } });
  const isCut = (part = ".session-mode") =>
    tab
      .locator(`.composer-foot ${part} span:visible`)
      .evaluate((span) => span.scrollWidth > span.clientWidth);
  // Once it is known how full the context is, there is one control more.
  const counted = tab.waitForResponse((response) => response.url().includes("/context?"));
  await send(tab, "{words:8}");
  await untilDone(tab);
  await counted;
  await tab
    .getByRole("button", { name: /^Context \d+% full/, includeHidden: true })
    .waitFor({ state: "attached" });
  expect([await isCut(), await isCut(".model-menu")]).toEqual([false, false]);
  const field = await tab.locator(".composer").boundingBox();
  const button = await tab.getByRole("button", { name: "Send", exact: true }).boundingBox();
  if (field === null || button === null) throw new Error("nothing is shown");
  expect(button.x + button.width).toBeLessThan(field.x + field.width - 4);
  await send(tab, "{rate:5} {words:200}");
  await tab.getByRole("button", { name: "Stop" }).waitFor();
  expect(await isCut()).toBe(false);
});
