import { sessionId } from "@holdfast/protocol";

import { JsonFileStore } from "../baselines/json-file-store.ts";
import { bare, type Line, ours } from "../harness/figures.ts";
import { type Contender, interleaveApart } from "../harness/interleave.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { uncachedCursor, type Bench, loopLine } from "./bench.ts";
import { fillSessions, benchOwner } from "./fill.ts";

const shown = 50;
/** Greater than any other. */
const last = sessionId.parse(`ses_7${"z".repeat(25)}`);

/** The first page of the list, as every client requests it. */
export const listSessions: WorkloadDefinition<Bench> = {
  id: "W4",
  title: `list ${shown} sessions`,
  async measure({ backend, corpus, sizes, baselines }: Bench) {
    await using stack = new AsyncDisposableStack();
    const counts = [sizes.sessions[0] ?? 0, sizes.sessions.at(-1) ?? 0];
    const contenders: Contender[] = [];
    const heavy: Contender[] = [];
    for (const size of counts) {
      const { database } = await backend.prepareDatabase(
        `sessions-${corpus.key}-${size}`,
        async (store) => ({ sessions: await fillSessions(store, corpus, size) }),
      );
      stack.use(database);
      const store = await database.open();
      stack.defer(() => store.close());
      const driver = stack.use(await database.openBareReads());
      contenders.push(
        {
          name: `${ours} ${size}`,
          perRound: 25,
          watchLoop: true,
          run: () =>
            store.reads.sessions(benchOwner, {
              limit: shown,
              after: { sortAt: uncachedCursor(), id: last },
            }),
        },
        { name: `${bare} ${size}`, perRound: 25, run: () => driver.list(benchOwner, shown) },
      );
      const json = baselines.open(database.folder).find((one) => one instanceof JsonFileStore);
      if (json === undefined) continue;
      json.pretendSessions(size);
      heavy.push({ name: `${json.name} ${size}`, perRound: 2, run: () => json.list(shown) });
    }
    const measured = await interleaveApart(contenders, heavy, sizes.pace);
    const systems = ["JSON files"].filter((name) => measured.of(`${name} ${counts[0]}`).count > 0);
    const small = measured.of(`${ours} ${counts[0]}`);
    const lines = counts.flatMap((size, index): Line[] => {
      const mine = measured.of(`${ours} ${size}`);
      const ratio = mine.p50 / small.p50;
      const figures = (pick: "p50" | "p99") =>
        [ours, bare, ...systems].map((system) => {
          const samples = measured.of(`${system} ${size}`);
          return {
            system,
            value: samples[pick],
            unit: "ms" as const,
            more: { count: samples.count },
          };
        });
      const what = `${shown} of ${size.toLocaleString("en")}`;
      const params = { sessions: size, limit: shown };
      return [
        {
          what: `${what}, p50`,
          params,
          figures: figures("p50"),
          ...(index > 0 && {
            bound: { text: `≤ 1.3× of few (${ratio.toFixed(2)}×)`, met: ratio <= 1.3 },
          }),
        },
        {
          what: `${what}, p99`,
          params,
          figures: figures("p99"),
          ...(index > 0 && { bound: { text: "< 1 ms", met: mine.p99 < 1 } }),
        },
      ];
    });
    return { lines: [...lines, loopLine(measured.loop)] };
  },
};
