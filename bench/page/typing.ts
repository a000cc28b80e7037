import type { Page } from "playwright-core";

import { lineOf } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { startHost } from "../host/served-host.ts";
import type { Bench } from "./bench.ts";
import { type KeyFigures, timeFrames, timeKeys } from "./frames.ts";
import { clientOf, openPage, say } from "./open-page.ts";
import { scroll } from "./scroll.ts";

const wordsPerSecond = 100;
const betweenKeysMs = 45;
const text = "What would a person who types quickly write while the answer is still coming? ";

/** Somebody types and scrolls in a conversation of a few hundred messages while an answer streams into it. */
export const typeAndScroll: WorkloadDefinition<Bench> = {
  id: "typing",
  title: "typing and scrolling while an answer streams",
  async measure({ sizes, browser, prepareMessages }) {
    const { place: opened, session } = await prepareMessages(sizes.typedMessages);
    await using database = opened;
    await using host = await startHost(database.address, database.folder);
    const page = await openPage(browser, host, session);
    const typed = text.repeat(Math.ceil(sizes.keys / text.length)).slice(0, sizes.keys);
    const seconds = (sizes.keys * betweenKeysMs * 2 + sizes.typedScrollMs) / 1_000;
    const words = Math.ceil((seconds + 10) * wordsPerSecond);
    await say(clientOf(host), session, "typing", `{words:${words}} {rate:${wordsPerSecond}}`);
    const writing = page.locator(".message[aria-busy=true]");
    await writing.waitFor();
    const field = page.getByRole("textbox", { name: "Message" });
    await field.focus();
    const keys = await timeKeys(page, () => page.keyboard.type(typed, { delay: betweenKeysMs }));
    const frames = await timeFrames(page, () =>
      scroll(page, ".entries", { pixels: -300, ms: sizes.typedScrollMs }),
    );
    if ((await field.inputValue()) !== typed) throw new Error("Not every key arrived.");
    if ((await page.getByText("Live", { exact: true }).count()) === 0) {
      throw new Error("The page lost the stream.");
    }
    const bare = await typeIntoBareField(page);
    await page.context().close();
    const params = { messages: sizes.typedMessages, wordsPerSecond };
    return {
      lines: [
        lineOf("work for a key, p50", keys.work.p50, "ms", { params }),
        lineOf("work for a key, p95", keys.work.percentile(95), "ms", { params, below: 16 }),
        lineOf("a key to the end of its frame, p95", keys.shown.percentile(95), "ms", { params }),
        lineOf("the same in a blank page", bare.shown.percentile(95), "ms"),
        lineOf("scrolling back: a frame, p50", frames.p50, "ms", { params }),
        lineOf("scrolling back: a frame, p95", frames.percentile(95), "ms", { params, below: 25 }),
      ],
      notes: [
        "Work for a key: by the clock, waiting behind other work, handling, layout and paint.",
        "Only the wait for the screen's next tick, up to 16.7 ms, isn't in it.",
        "A blank page with one text field has nothing to wait for but that tick.",
      ],
    };
  },
};

/** What the browser and its frames cost without the page: nothing can be faster. */
async function typeIntoBareField(page: Page): Promise<KeyFigures> {
  await page.goto("about:blank");
  await page.setContent("<textarea autofocus></textarea>");
  await page.locator("textarea").focus();
  return timeKeys(page, () => page.keyboard.type(text.repeat(3), { delay: betweenKeysMs }));
}
