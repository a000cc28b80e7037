import type { Page } from "playwright-core";

import { lineOf, type WorkloadDefinition } from "../harness/index.ts";
import { startHost } from "../host/served-host.ts";
import { clientOf, openPage, say } from "./open-page.ts";
import type { Bench } from "./bench.ts";

/** Many short turns in one tab that is never reloaded: what it holds after a tenth of them, and after all. */
export const holdTurns: WorkloadDefinition<Bench> = {
  id: "turns",
  title: "memory of a tab over many turns",
  async measure({ sizes, browser, prepare }) {
    const { place: opened } = await prepare();
    await using place = opened;
    await using host = await startHost(place.address, place.folder);
    const client = clientOf(host);
    const made = await client.createSession({ body: {} });
    if (!made.ok) throw new Error(`A session: ${made.error.code}`);
    const { id } = made.value.session;
    const page = await openPage(browser, host, id);
    const early = Math.ceil(sizes.turns / 10);
    let heapEarly = 0;
    for (let turn = 1; turn <= sizes.turns; turn += 1) {
      await say(client, id, `turn-${turn}`, `Turn ${turn} {words:8} {rate:10000}`);
      await untilAnswered(page, turn);
      if (turn === early) heapEarly = await heapOf(page);
    }
    const heap = await heapOf(page);
    await page.context().close();
    const params = { turns: sizes.turns };
    return {
      lines: [
        lineOf(`heap after ${early} turns`, heapEarly, "bytes", { params }),
        lineOf(`heap after ${sizes.turns} turns`, heap, "bytes", { params }),
        lineOf("growth a turn", (heap - heapEarly) / (sizes.turns - early), "bytes", { params }),
      ],
      notes: ["After a collection of garbage. A tab keeps what it has read of the conversation."],
    };
  },
};

/** What was said is answered, and shown. */
async function untilAnswered(page: Page, turn: number): Promise<void> {
  await page.locator(".message.user", { hasText: `Turn ${turn} ` }).waitFor();
  await page.locator(".strip .dot").waitFor({ state: "detached" });
}

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}
