import type { Page } from "playwright-core";

import { lineOf, type WorkloadDefinition } from "../harness/index.ts";
import { startHost } from "../host/served-host.ts";
import { clientOf, openPage, say } from "./open-page.ts";
import type { Bench } from "./bench.ts";

const atOnce = 20;
/** So little that nobody meets it in a tab that is open for years. */
const flatBelow = 1024;

/** Many short turns in one tab that is never reloaded: what it holds when it is full, and after all of them. */
export const holdTurns: WorkloadDefinition<Bench> = {
  id: "turns",
  title: "memory of a tab over many turns",
  async measure({ sizes, browser, prepareMessages }) {
    const { place: opened } = await prepareMessages(50);
    await using place = opened;
    await using host = await startHost(place.address, place.folder);
    const client = clientOf(host);
    const made = await client.createSession({ body: {} });
    if (!made.ok) throw new Error(`A session: ${made.error.code}`);
    const { id } = made.value.session;
    const page = await openPage(browser, host, id);
    const early = Math.ceil(sizes.turns * 0.4);
    let heapEarly = 0;
    for (let turn = 1; turn <= sizes.turns; turn += 1) {
      await say(client, id, `turn-${turn}`, `Turn ${turn} {words:8} {rate:10000}`);
      // Several wait at once: what is measured is the tab, and not how soon a turn follows another.
      if (turn % atOnce === 0 || turn === sizes.turns) await untilAnswered(page, turn);
      if (turn === early) heapEarly = await heapOf(page);
    }
    const heap = await heapOf(page);
    await page.context().close();
    const params = { turns: sizes.turns };
    return {
      lines: [
        lineOf(`heap after ${early} turns`, heapEarly, "bytes", { params }),
        lineOf(`heap after ${sizes.turns} turns`, heap, "bytes", { params }),
        lineOf("growth a turn", (heap - heapEarly) / (sizes.turns - early), "bytes", {
          params,
          below: flatBelow,
        }),
      ],
      notes: [
        "After a collection of garbage. A tab holds 600 entries at most; the first figure is from when it does.",
      ],
    };
  },
};

/** What was said is answered, and shown. */
async function untilAnswered(page: Page, turn: number): Promise<void> {
  const said = page.locator(".message.user", { hasText: `Turn ${turn} ` });
  await said.waitFor({ timeout: 120_000 });
  await page.locator(".strip .dot").waitFor({ state: "detached" });
}

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}
