import type { SessionState } from "@holdfast/client";
import { ids, type SessionId } from "@holdfast/protocol";
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { followUntil, hasEnded, valueOf } from "../served-host.ts";
import { answers, createPageRig, messageField, send } from "./page-rig.ts";

const rig = createPageRig();
let long: SessionId;
let asked: SessionId;

beforeAll(async () => {
  long = await createLongSession();
  asked = await createLongSession();
});

/** Several screens of messages, at any width. */
async function createLongSession(): Promise<SessionId> {
  const client = rig.client();
  const { id } = valueOf(await client.createSession({ body: { title: "Long" } })).session;
  for (let turn = 1; turn <= 6; turn++)
    valueOf(
      await client.sendMessage({
        params: { id },
        body: {
          clientId: ids.make("message"),
          text: `{rate:100000} {words:300} Turn ${turn}`,
        },
      }),
    );
  await followUntil(client, id, hasEnded);
  return id;
}

const turnsIn = ({ entries: shown }: SessionState): number =>
  shown.filter((entry) => entry.type === "message" && entry.role === "user").length;

const entries = (tab: Page): Locator => tab.getByRole("log");
const offsetOf = (tab: Page): Promise<number> =>
  entries(tab).evaluate(({ scrollTop }) => scrollTop);
const distanceFromEnd = (tab: Page): Promise<number> =>
  entries(tab).evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop);

/** This close to the end the transcript follows new messages. */
const endThreshold = 80;

async function isInWindow(tab: Page, locator: Locator): Promise<boolean> {
  const [box, size] = [await locator.boundingBox(), tab.viewportSize()];
  return box !== null && size !== null && box.y >= 0 && box.y + box.height <= size.height;
}

/** Whether the lower end of a row is inside the visible part of the transcript. */
async function isShown(tab: Page, row: Locator): Promise<boolean> {
  if ((await row.count()) === 0) return false;
  const [box, log] = [await row.boundingBox(), await entries(tab).boundingBox()];
  if (box === null || log === null) return false;
  const end = box.y + box.height;
  return end > log.y && end <= log.y + log.height;
}

function messageInTheMiddle(tab: Page): Promise<string | null> {
  return entries(tab).evaluate((log) => {
    const box = log.getBoundingClientRect();
    const middle = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return middle?.closest("[data-seq]")?.getAttribute("data-seq") ?? null;
  });
}

/** Turns the wheel over the left of the transcript, which no panel covers, until the view has moved. */
async function wheel(tab: Page, pixels: number): Promise<void> {
  const box = await entries(tab).boundingBox();
  if (box === null) throw new Error("no transcript");
  await tab.mouse.move(box.x + 20, box.y + 40);
  const before = await offsetOf(tab);
  await tab.mouse.wheel(0, pixels);
  await expect.poll(() => offsetOf(tab)).not.toBe(before);
}

async function scrollBy(tab: Page, pixels: number): Promise<void> {
  await entries(tab).evaluate(
    (box, distance) =>
      new Promise((resolve) => {
        box.addEventListener("scrollend", resolve, { once: true });
        box.scrollTop += distance;
      }),
    pixels,
  );
}

async function openLong(id: SessionId, viewport = { width: 1280, height: 800 }): Promise<Page> {
  const { tab } = await rig.openTab({ at: `?session=${id}`, viewport, reducedMotion: "reduce" });
  await answers(tab).last().waitFor();
  await expect.poll(() => distanceFromEnd(tab)).toBeLessThan(2);
  return tab;
}

const panels = [
  {
    name: "Context",
    open: (tab: Page) => tab.getByRole("button", { name: "Show context" }).click(),
  },
  {
    name: "Run details",
    async open(tab: Page) {
      await answers(tab).last().hover();
      await tab.getByRole("button", { name: "Message actions" }).last().click();
      await tab.getByRole("menuitem", { name: "Run details" }).click();
    },
  },
];

const viewports = [
  { width: 360, height: 720 },
  { width: 800, height: 600 },
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
];

test.each(viewports)(
  "a panel keeps the composer in view and the transcript in place: $width x $height",
  async (viewport) => {
    const tab = await openLong(long, viewport);
    for (const panel of panels) {
      await panel.open(tab);
      const aside = tab.getByRole("complementary", { name: panel.name });
      await aside.waitFor();
      expect(await isInWindow(tab, messageField(tab))).toBe(true);
      expect(await isInWindow(tab, aside)).toBe(true);
      await expect.poll(() => distanceFromEnd(tab)).toBeLessThan(endThreshold);
      // On a phone the panel covers all of the transcript.
      if (viewport.width > 360) await wheel(tab, -300);
      await aside.getByRole("button", { name: "Close" }).click();
      await aside.waitFor({ state: "detached" });
      expect(await isInWindow(tab, messageField(tab))).toBe(true);
    }
  },
);

test("a panel that opens while the reader is further up leaves what they read in view", async () => {
  const tab = await openLong(long);
  await scrollBy(tab, -1500);
  // The list does not adjust anything above the view while somebody scrolls up.
  await scrollBy(tab, 100);
  const read = await messageInTheMiddle(tab);
  await tab.getByRole("button", { name: "Show context" }).click();
  const aside = tab.getByRole("complementary", { name: "Context" });
  await aside.getByRole("img").first().waitFor();
  expect(await messageInTheMiddle(tab)).toBe(read);
  await aside.getByRole("button", { name: "Close" }).click();
  await aside.waitFor({ state: "detached" });
  expect(await messageInTheMiddle(tab)).toBe(read);
});

test("a message sent from further up is shown, and so is its answer", async () => {
  const tab = await openLong(long);
  await wheel(tab, -3000);
  await send(tab, "From further up {rate:100000} {words:400}");
  const message = tab.getByRole("article", { name: "You" }).getByText("From further up");
  await message.waitFor({ state: "attached" });
  await followUntil(rig.client(), long, (state) => hasEnded(state) && turnsIn(state) === 7);
  await tab.locator(".strip .dot").waitFor({ state: "detached" });
  await expect.poll(() => distanceFromEnd(tab)).toBeLessThan(endThreshold);
  const answer = answers(tab).last();
  expect(await answer.innerText()).toContain("holdfast");
  expect(await isShown(tab, answer)).toBe(true);
});

test("an approval is shown after a message from further up, and can be reached from the status line", async () => {
  const tab = await openLong(asked);
  await wheel(tab, -3000);
  await send(tab, 'Look {tool:terminal {"command":"ls"}} {words:5}');
  const card = tab.getByRole("region", { name: "Run this command?" });
  await expect.poll(() => isShown(tab, card)).toBe(true);
  await wheel(tab, -3000);
  await expect.poll(() => isShown(tab, card)).toBe(false);
  await tab.getByRole("button", { name: "Needs your approval", exact: true }).click();
  await expect.poll(() => isShown(tab, card)).toBe(true);
  await card.getByRole("button", { name: "Deny" }).click();
});
