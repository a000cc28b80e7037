import type { Page } from "playwright-core";

import { lineOf } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { startHost } from "../host/served-host.ts";
import { clientOf, openPage, say } from "./open-page.ts";
import type { Bench } from "./bench.ts";

const atOnce = 20;
/** Too little to matter in a tab that is open for years. */
const flatBelowBytes = 1024;

/** Many short turns in one tab that is never reloaded: its peak memory in each half of them. */
export const holdTurns: WorkloadDefinition<Bench> = {
  id: "turns",
  title: "memory of a tab over many turns",
  async measure({ sizes, browser, prepareMessages }) {
    const { place: opened } = await prepareMessages(50);
    await using database = opened;
    await using host = await startHost(database.address, database.folder);
    const client = clientOf(host);
    const made = await client.createSession({ body: {} });
    if (!made.ok) throw new Error(`A session: ${made.error.code}`);
    const { id } = made.value.session;
    const page = await openPage(browser, host, id);
    const half = sizes.turns / 2;
    const peaks = { early: 0, late: 0 };
    for (let turn = 1; turn <= sizes.turns; turn += 1) {
      await say(client, id, `turn-${turn}`, `Turn ${turn} {words:8} {rate:10000}`);
      // Several turns are queued at once: the tab is measured, not the time between turns.
      if (turn % atOnce !== 0 && turn !== sizes.turns) continue;
      await untilAnswered(page, turn);
      const when = turn <= half ? "early" : "late";
      peaks[when] = Math.max(peaks[when], await heapOf(page));
    }
    await page.context().close();
    const params = { turns: sizes.turns };
    const growth = (peaks.late - peaks.early) / half;
    return {
      lines: [
        lineOf(`most heap in the first ${half} turns`, peaks.early, "bytes", { params }),
        lineOf(`most heap in the ${half} behind them`, peaks.late, "bytes", { params }),
        lineOf("growth a turn", growth, "bytes", { params, below: flatBelowBytes }),
      ],
      notes: [
        `After a collection of garbage, each ${atOnce} turns. A tab lets go of entries in heaps, so the most is compared with the most.`,
      ],
    };
  },
};

/** The message is answered, and the answer is shown. */
async function untilAnswered(page: Page, turn: number): Promise<void> {
  const sent = page.locator(".message.user", { hasText: `Turn ${turn} ` });
  await sent.waitFor({ timeout: 120_000 });
  await page.locator(".strip .dot").waitFor({ state: "detached" });
}

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}
