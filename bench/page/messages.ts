import { lineOf } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { startHost } from "../host/served-host.ts";
import type { Bench } from "./bench.ts";
import { openTab } from "./open-page.ts";
import { scroll } from "./scroll.ts";
import { taskLines, trace } from "./trace.ts";

const windowMs = 20;

/** A very long conversation: opened at its end, scrolled back through, and jumped into its middle. */
export const scrollMessages: WorkloadDefinition<Bench> = {
  id: "messages",
  title: "a conversation of very many messages",
  async measure({ sizes, browser, prepareMessages }) {
    const { place: opened, session } = await prepareMessages(sizes.manyMessages);
    await using database = opened;
    await using host = await startHost(database.address, database.folder);
    const page = await openTab(browser, host);
    await page.goto(host.address);
    const row = page.locator(".session-link").first();
    await row.waitFor();
    const open = await trace(browser, page, windowMs, async () => {
      await row.click();
      await page.locator(".message").last().waitFor();
    });
    const firstShown = (): Promise<number> =>
      page
        .locator(".message[data-seq]")
        .first()
        .evaluate((message) => Number(message.getAttribute("data-seq")));
    const before = await firstShown();
    const back = await trace(browser, page, windowMs, () =>
      scroll(page, ".entries", { pixels: -1_200, ms: sizes.scrollMs }),
    );
    const passed = before - (await firstShown());
    const forth = await trace(browser, page, windowMs, () =>
      scroll(page, ".entries", { pixels: 1_200, ms: sizes.scrollMs / 2 }),
    );
    const middle = Math.round(sizes.manyMessages / 2);
    const jump = await trace(browser, page, windowMs, async () => {
      await page.evaluate((address) => {
        history.pushState(null, "", address);
        dispatchEvent(new PopStateEvent("popstate"));
      }, `?session=${session}&at=${middle}`);
      await page.locator(".linked").waitFor();
    });
    await page.context().close();
    const params = { messages: sizes.manyMessages };
    return {
      lines: [
        ...taskLines("opening", open, params),
        ...taskLines("scrolling back", back, params),
        ...taskLines("scrolling down again", forth, params),
        ...taskLines("going to the middle", jump, params),
        lineOf("messages scrolled past a second", passed / (sizes.scrollMs / 1_000), "/s", {
          params,
        }),
      ],
    };
  },
};
