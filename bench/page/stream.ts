import { lineOf } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { startHost } from "../host/served-host.ts";
import type { Bench } from "./bench.ts";
import { clientOf, openPage, say } from "./open-page.ts";
import { aboutTasks, taskLines, trace } from "./trace.ts";

const deltasPerSecond = 50;
/** The rehearsal model emits two words at a time, on average. */
const wordsPerSecond = 2 * deltasPerSecond;

/** An answer streams at the end of a long conversation, while somebody watches. */
export const streamIntoPage: WorkloadDefinition<Bench> = {
  id: "stream",
  title: "an answer being written into a long conversation",
  async measure({ sizes, browser, prepareMessages }) {
    const { place: opened, session } = await prepareMessages(sizes.messages);
    await using database = opened;
    await using host = await startHost(database.address, database.folder);
    const page = await openPage(browser, host, session);
    const words = Math.ceil((sizes.streamMs / 1_000) * wordsPerSecond);
    await say(clientOf(host), session, "stream", `{words:${words}} {rate:${wordsPerSecond}}`);
    await page.locator(".message[aria-busy=true]").waitFor();
    const figures = await trace(browser, page, 1_000 / deltasPerSecond, () =>
      page.waitForTimeout(sizes.streamMs / 2),
    );
    await page.context().close();
    const { scripts } = figures;
    const params = { messages: sizes.messages, deltasPerSecond };
    return {
      lines: [
        ...taskLines("writing", figures, params),
        lineOf("scripting for a delta, p50", scripts.p50, "ms", { params }),
        lineOf("scripting for a delta, p99", scripts.p99, "ms", { params, below: 8 }),
      ],
      notes: [
        aboutTasks,
        `Scripting is what ran in each ${1_000 / deltasPerSecond} ms that had some: one delta comes in that time.`,
      ],
    };
  },
};
