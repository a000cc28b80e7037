import { gzipSync } from "node:zlib";
import type { Response } from "playwright-core";

import { lineOf } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { startHost } from "../host/served-host.ts";
import type { Bench } from "./bench.ts";
import { openTab } from "./open-page.ts";

const maxBytes = 250 * 1024;

/** What a browser downloads before a person can begin. */
export const loadPage: WorkloadDefinition<Bench> = {
  id: "load",
  title: "the first load of the page",
  async measure({ browser, prepareMessages }) {
    const { place: opened } = await prepareMessages(50);
    await using database = opened;
    await using host = await startHost(database.address, database.folder);
    const page = await openTab(browser, host);
    const fetched: Response[] = [];
    page.on("response", (response) => {
      if (!new URL(response.url()).pathname.includes("/api/")) fetched.push(response);
    });
    await page.goto(host.address);
    await page.getByRole("textbox", { name: "Message" }).waitFor();
    const sizes = await Promise.all(
      fetched.map(async (response) => gzipSync(await response.body()).length),
    );
    const shown = await page.evaluate(
      () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
    );
    await page.context().close();
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    return {
      lines: [
        lineOf("page, styles and scripts, gzipped", bytes, "bytes", { below: maxBytes }),
        lineOf("first paint", shown, "ms"),
      ],
    };
  },
};
