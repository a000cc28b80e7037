import { aUserMessage } from "@holdfast/testing/fixtures/factories";
import { assertCommitted } from "@holdfast/testing/fixtures/open-session";
import type { SessionId } from "@holdfast/protocol";

import { interleave } from "../harness/interleave.ts";
import { ours } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { benchOwner } from "../store/fill.ts";
import type { Bench } from "./bench.ts";
import { createConversation, compactAway } from "./sessions.ts";

const allowedMs = 5;

/** Others write while a compaction commits: how much longer do they wait? */
export const compactBeside: WorkloadDefinition<Bench> = {
  id: "compaction",
  title: "the commit of a compaction, and who writes meanwhile",
  async measure({ backend, sizes: { compacted, live, pace } }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    const talk = await createConversation(store, compacted);
    const other = await createConversation(store, 10);
    const append = async (session: SessionId): Promise<number> => {
      const startedAt = performance.now();
      const events = [aUserMessage("Hello")];
      assertCommitted(await store.commit({ owner: benchOwner, session, events }));
      return performance.now() - startedAt;
    };
    let epoch = 0;
    const meanwhile: number[] = [];
    const measured = await interleave(
      [
        { name: "append", perRound: 10, run: () => append(other) },
        {
          name: "compaction",
          perRound: 2,
          async run() {
            epoch += 1;
            const over = new AbortController();
            const done = compactAway(store, talk, { live, epoch }).finally(() => over.abort());
            while (!over.signal.aborted) meanwhile.push(await append(other));
            await done;
          },
        },
      ],
      pace,
    );
    await store.close();
    const alone = measured.of("append");
    const sorted = meanwhile.toSorted((a, b) => a - b);
    const middle = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
    const longest = sorted.at(-1) ?? Number.NaN;
    const more = middle - alone.p50;
    return {
      lines: [
        line("lock, commit and release of a compaction, p50", measured.of("compaction").p50),
        line("an append by somebody else, alone, p50", alone.p50),
        line("the same while a compaction commits, p50", middle),
        {
          ...line("held up by", Math.max(0, more)),
          bound: { text: `< ${allowedMs} ms`, met: more < allowedMs },
        },
        line("longest append alone", alone.max),
        line("longest append meanwhile", longest),
      ],
      notes: [
        "A compaction begins before the append and ends behind it: lock, read, commit, release.",
      ],
    };
  },
};

function line(what: string, value: number) {
  return { what, params: {}, figures: [{ system: ours, value, unit: "ms" as const }] };
}
