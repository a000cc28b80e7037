import { lineOf } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { startHost } from "../host/served-host.ts";
import type { Bench } from "./bench.ts";
import { openTab } from "./open-page.ts";
import { scroll } from "./scroll.ts";
import { taskLines, trace } from "./trace.ts";

const windowMs = 20;

/** The list of a person with very many conversations: scrolled through and searched. */
export const scrollSessions: WorkloadDefinition<Bench> = {
  id: "sessions",
  title: "a list of very many sessions",
  async measure({ sizes, browser, prepareSessions }) {
    const { place: opened } = await prepareSessions(sizes.manySessions);
    await using database = opened;
    await using host = await startHost(database.address, database.folder);
    const page = await openTab(browser, host);
    await page.goto(host.address);
    await page.locator(".session").first().waitFor();
    const through = await trace(browser, page, windowMs, () =>
      scroll(page, ".sessions", { pixels: 1_000, ms: sizes.scrollMs }),
    );
    const rows = await page
      .locator(".sessions [data-index]")
      .last()
      .evaluate((row) => Number(row.getAttribute("data-index")));
    const find = await trace(browser, page, windowMs, async () => {
      await page.locator(".search input").pressSequentially("bor", { delay: 60 });
      await page.locator(".hit").first().waitFor();
    });
    await page.context().close();
    const params = { sessions: sizes.manySessions };
    return {
      lines: [
        ...taskLines("scrolling", through, params),
        ...taskLines("searching", find, params),
        lineOf("rows scrolled past a second", rows / (sizes.scrollMs / 1_000), "/s", { params }),
      ],
    };
  },
};
