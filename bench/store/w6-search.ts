import { readdirSync } from "node:fs";
import { join } from "node:path";

import { type Contender, interleave } from "../harness/interleave.ts";
import { type Line, ours } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { sizeOf } from "./bare-sqlite.ts";
import { type Bench, loopLine } from "./bench.ts";
import { fillSession, benchOwner } from "./fill.ts";
import { pickTerms } from "./search-terms.ts";

const messagesEach = 100;
const filledAtOnce = 20;
const shown = 20;

export const searchMessages: WorkloadDefinition<Bench> = {
  id: "W6",
  title: "search",
  async measure({ backend, corpus, sizes }: Bench) {
    const total = sizes.searched;
    const { database } = await backend.prepareDatabase(
      `searched-${corpus.key}-${total}`,
      async (store) => {
        const sessions: string[] = [];
        for (let first = 0; first < total; first += messagesEach * filledAtOnce) {
          const firsts = Array.from(
            { length: filledAtOnce },
            (_each, index) => first + index * messagesEach,
          );
          const filled = firsts
            .filter((begin) => begin < total)
            .map((begin) => fillSession(store, corpus, messagesEach, begin));
          sessions.push(...(await Promise.all(filled)));
        }
        await store.search.settled();
        return { sessions };
      },
    );
    await using _ = database;
    const store = await database.open();
    await store.search.settled();
    const terms = pickTerms(Array.from({ length: total }, (_each, index) => corpus.at(index)));
    const asked = Object.entries(terms).map(([kind, text]) => ({ kind, text: String(text) }));
    const ask = (text: string) => store.search.search(benchOwner, { text, limit: shown });

    const hits = new Map<string, number>();
    for (const { kind, text } of asked) {
      const found = await ask(text);
      if (found.status === "unavailable") {
        await store.close();
        return { lines: [], notes: [`Search is not available: ${found.message}`] };
      }
      hits.set(kind, found.hits.length);
    }
    const contenders = asked.map(({ kind, text }): Contender => ({
      name: kind,
      perRound: 10,
      watchLoop: true,
      run: () => ask(text),
    }));
    const measured = await interleave(contenders, sizes.pace);
    await store.close();

    const lines = asked.map(({ kind, text }): Line => {
      const { p50, p99, max, count } = measured.of(kind);
      return {
        what: `${kind} (${hits.get(kind)} of ${shown} hits), p99`,
        params: { kind, text, messages: total, limit: shown },
        figures: [{ system: ours, value: p99, unit: "ms", more: { p50, max, count } }],
        bound: { text: "< 10 ms", met: p99 < 10 && hits.get(kind) !== 0 },
      };
    });
    const size = backend.name === "sqlite" ? indexSize(database.folder) : undefined;
    return { lines: [...lines, ...sizeLine(size, corpus, total), loopLine(measured.loop)] };
  },
};

/** Everything in the folder besides the store itself. */
function indexSize(folder: string): number {
  return readdirSync(folder)
    .filter((name) => name.includes("search"))
    .reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
}

function sizeLine(size: number | undefined, corpus: Bench["corpus"], total: number): Line[] {
  if (size === undefined) return [];
  let text = 0;
  for (let index = 0; index < total; index += 1)
    text += Buffer.byteLength(corpus.at(index).content);
  const ratio = size / text;
  return [
    {
      what: "size of the index, of the text's",
      params: { messages: total, textBytes: text, indexBytes: size },
      figures: [{ system: ours, value: ratio, unit: "×" }],
      bound: { text: "≤ 1.5×", met: ratio <= 1.5 },
    },
  ];
}
