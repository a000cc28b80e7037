import type { NewEvent } from "@holdfast/protocol";

import { bare, type Line, ours } from "../harness/figures.ts";
import { interleave } from "../harness/interleave.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import type { Bench } from "./bench.ts";
import { messageEvent } from "./fill.ts";
import { growLog, openStreams, type Stream } from "./streams.ts";

interface Shape {
  readonly sessions: number;
  readonly rowsEach: number;
  readonly kind: "deltas" | "messages";
  readonly required?: number;
}

/** All sessions of a group commit at once; the next group starts when all have been answered. */
const shapes: readonly Shape[] = [
  { sessions: 8, rowsEach: 1, kind: "deltas" },
  { sessions: 8, rowsEach: 16, kind: "deltas" },
  { sessions: 8, rowsEach: 64, kind: "deltas", required: 100_000 },
  { sessions: 200, rowsEach: 1, kind: "deltas", required: 30_000 },
  { sessions: 200, rowsEach: 4, kind: "deltas" },
  { sessions: 8, rowsEach: 64, kind: "messages" },
  { sessions: 200, rowsEach: 1, kind: "messages" },
];

const deltaText = "some words of an answer ";

export const appendGroups: WorkloadDefinition<Bench> = {
  id: "W1.groups",
  title: "grouped appends",
  async measure({ backend, corpus, sizes }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    await using driver = await database.openBare();
    await growLog(store);
    const streams = await openStreams(store, 200);

    const lines: Line[] = [];
    for (const shape of shapes) {
      const { sessions, rowsEach, kind, required } = shape;
      const rows = sessions * rowsEach;
      let next = 0;
      const eventsFor = (stream: Stream): NewEvent[] =>
        Array.from({ length: rowsEach }, () =>
          kind === "deltas" ? stream.delta(deltaText) : messageEvent(corpus, (next += 1)),
        );
      const texts = eventsFor(streams[0]!).map((event) => JSON.stringify(event.data));
      const allTexts = Array.from({ length: sessions }, () => texts).flat();
      const measured = await interleave(
        [
          {
            name: ours,
            perRound: 2,
            run: () =>
              Promise.all(
                streams.slice(0, sessions).map((stream) => stream.commit(eventsFor(stream))),
              ),
          },
          { name: bare, perRound: 2, run: () => driver.insertGroup(allTexts) },
        ],
        { ...sizes.pace, budgetMs: sizes.pace.budgetMs / 4 },
      );
      const rate = (rows / measured.of(ours).mean) * 1_000;
      lines.push({
        what: `${sessions} sessions × ${rowsEach} ${kind}, rows a second`,
        params: { sessions, rowsEach, kind },
        figures: [
          {
            system: ours,
            value: rate,
            unit: "/s",
            more: { groupP50: measured.of(ours).p50, groupP99: measured.of(ours).p99 },
          },
          { system: bare, value: (rows / measured.of(bare).mean) * 1_000, unit: "/s" },
        ],
        ...(required !== undefined && {
          bound: { text: `≥ ${required.toLocaleString("en")}/s`, met: rate >= required },
        }),
      });
    }
    await store.close();
    return { lines };
  },
};
