import { lineOf, Samples, type WorkloadDefinition } from "../harness/index.ts";
import type { Bench } from "./bench.ts";
import { startBot } from "./bot.ts";

const note =
  "Timed from where the platform sends an update off to where it is asked for what follows it: the message is accepted by then, with the answer that is owed for it, and the poller's cursor is kept. The next one comes when the answer is shown.";

/** What comes in, one after the other, each from a chat of its own. */
export const takeUpdates: WorkloadDefinition<Bench> = {
  id: "updates",
  title: "from an update to its acceptance",
  async measure({ sizes, prepare }) {
    await using place = await prepare();
    await using bot = await startBot(place, sizes.updates);
    const { platform } = bot;
    const times = new Samples();
    for (let chat = 1; chat <= sizes.updates; chat += 1) {
      const confirmed = Promise.withResolvers<void>();
      platform.faults.before = (method, { offset }) => {
        const isNext = method === "getUpdates" && Number(offset) >= platform.nextUpdate;
        if (isNext) confirmed.resolve();
      };
      const answered = Promise.withResolvers<void>();
      platform.onShown = () => answered.resolve();
      const begun = performance.now();
      platform.say(chat, `update ${chat} {words:1}`);
      await confirmed.promise;
      if (chat > sizes.updates / 10) times.add(performance.now() - begun);
      await answered.promise;
    }
    return {
      lines: [
        lineOf("update to accepted and confirmed, p50", times.p50, "ms"),
        lineOf("update to accepted and confirmed, p99", times.p99, "ms", { below: 20 }),
      ],
      notes: [note],
    };
  },
};
