import type { Browser, Page } from "playwright-core";

import { lineOf } from "../harness/figures.ts";
import { Samples } from "../harness/samples.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { type ServedHost, startHost } from "../host/served-host.ts";
import type { Bench } from "./bench.ts";
import { openTab } from "./open-page.ts";

const maxBytes = 250 * 1024;
const maxPaintMs = 400;

interface FirstLoad {
  /** What came over the wire with its headers, of the API too. */
  readonly bytes: number;
  readonly paintMs: number;
}

/** What a browser downloads before a person can begin, each time with an empty cache. */
export const loadPage: WorkloadDefinition<Bench> = {
  id: "load",
  title: "the first load of the page",
  async measure({ sizes, browser, prepareMessages }) {
    const { place: opened } = await prepareMessages(50);
    await using database = opened;
    await using host = await startHost(database.address, database.folder);
    const paints = new Samples();
    const bytes = { brotli: 0, gzip: 0 };
    for (let time = 0; time < sizes.firstLoads; time += 1) {
      // A browser asks for Brotli on HTTPS and on loopback; elsewhere it gets gzip.
      const first = await loadOnce(browser, host, "br, gzip");
      paints.add(first.paintMs);
      bytes.brotli = Math.max(bytes.brotli, first.bytes);
    }
    bytes.gzip = (await loadOnce(browser, host, "gzip")).bytes;
    const params = { loads: sizes.firstLoads };
    return {
      lines: [
        lineOf("on the wire, Brotli", bytes.brotli, "bytes", { below: maxBytes }),
        lineOf("on the wire, gzip", bytes.gzip, "bytes", { below: maxBytes }),
        lineOf("first contentful paint, p50", paints.p50, "ms", { params, below: maxPaintMs }),
        lineOf("first contentful paint, slowest", paints.max, "ms", { params }),
      ],
    };
  },
};

async function loadOnce(browser: Browser, host: ServedHost, encodings: string): Promise<FirstLoad> {
  const page = await openTab(browser, host);
  await page.context().setExtraHTTPHeaders({ "accept-encoding": encodings });
  const bytes = await countBytes(page);
  await page.goto(host.address);
  await page.getByRole("textbox", { name: "Message" }).waitFor();
  const paintMs = await page.evaluate(
    () =>
      new Promise<number>((resolve) =>
        new PerformanceObserver((list) => {
          const paint = list.getEntriesByName("first-contentful-paint")[0];
          if (paint !== undefined) resolve(paint.startTime);
        }).observe({ type: "paint", buffered: true }),
      ),
  );
  await page.context().close();
  return { bytes: bytes(), paintMs };
}

async function countBytes(page: Page): Promise<() => number> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Network.enable");
  let sum = 0;
  devtools.on("Network.loadingFinished", ({ encodedDataLength }) => (sum += encodedDataLength));
  return () => sum;
}
