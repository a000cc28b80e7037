import type { Store } from "@holdfast/engine";
import { type Seq, sessionId, type SessionId } from "@holdfast/protocol";

import { bare, type Line, ours } from "../harness/figures.ts";
import { type Contender, interleaveApart } from "../harness/interleave.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { atMost, uncachedCursor, type Bench, loopLine } from "./bench.ts";
import { fillSession, benchOwner } from "./fill.ts";

const shown = 50;
const pageSize = 500;
/** In a shorter session, one thread handing over to another takes most of the time. */
const boundSize = 10_000;

/** Opening a conversation: its end at once, and all of it page by page. */
export const openSessions: WorkloadDefinition<Bench> = {
  id: "W5",
  title: "open a session",
  async measure({ backend, corpus, sizes, baselines }: Bench) {
    const key = `opened-${corpus.key}-${sizes.opened.join("-")}`;
    const { database, known } = await backend.prepareDatabase(key, async (store) => {
      const made: string[] = [];
      for (const count of sizes.opened) made.push(await fillSession(store, corpus, count));
      return { sessions: made };
    });
    await using _ = database;
    const store = await database.open();
    await using driver = await database.openBareReads();
    const others = baselines.open(database.folder);
    const tails: Contender[] = [];
    const wholes: Contender[] = [];
    for (const [index, size] of sizes.opened.entries()) {
      const session = sessionId.parse(known["sessions"]?.[index]);
      tails.push(
        {
          name: `tail ${ours} ${size}`,
          perRound: 25,
          watchLoop: true,
          run: () =>
            store.reads.snapshot(benchOwner, session, {
              limit: shown,
              before: uncachedCursor() as Seq,
            }),
        },
        { name: `tail ${bare} ${size}`, perRound: 25, run: () => driver.tail(session, shown) },
      );
      wholes.push(
        {
          name: `whole ${ours} ${size}`,
          perRound: 1,
          watchLoop: true,
          run: () => readWhole(store, session),
        },
        { name: `whole ${bare} ${size}`, perRound: 1, run: () => driver.whole(session, pageSize) },
      );
      for (const other of others) {
        const messages = Array.from({ length: size }, (_each, number) => corpus.at(number));
        await other.save(`session-${size}`, messages);
        wholes.push({
          name: `whole ${other.name} ${size}`,
          perRound: 1,
          run: () => other.load(`session-${size}`),
        });
      }
    }
    const measured = await interleaveApart(tails, wholes, sizes.pace);
    others.forEach((other) => other.close());
    await store.close();

    const largest = sizes.opened.at(-1);
    const tailLines = sizes.opened.map((size): Line => {
      const mine = measured.of(`tail ${ours} ${size}`);
      const limit = measured.of(`tail ${bare} ${size}`);
      return {
        what: `last ${shown} of ${size.toLocaleString("en")}, p99`,
        params: { messages: size, limit: shown },
        figures: [
          { system: ours, value: mine.p99, unit: "ms", more: { p50: mine.p50, count: mine.count } },
          { system: bare, value: limit.p99, unit: "ms", more: { p50: limit.p50 } },
        ],
        ...(size === largest && { bound: { text: "< 1 ms", met: mine.p99 < 1 } }),
      };
    });
    const systems = [ours, bare, ...others.map((other) => other.name)];
    const wholeLines = sizes.opened.map((size): Line => {
      const ratio =
        measured.of(`whole ${ours} ${size}`).p50 / measured.of(`whole ${bare} ${size}`).p50;
      return {
        what: `all ${size.toLocaleString("en")}, p50`,
        params: { messages: size, pageSize },
        figures: systems.map((system) => {
          const samples = measured.of(`whole ${system} ${size}`);
          return { system, value: samples.p50, unit: "ms", more: { count: samples.count } };
        }),
        ...(size === boundSize && { bound: atMost(ratio, 1.2) }),
      };
    });
    return {
      lines: [...tailLines, ...wholeLines, loopLine(measured.loop)],
      notes: [`The whole is read in pages of ${pageSize}; the baselines hold all of it at once.`],
    };
  },
};

async function readWhole(store: Store, session: SessionId): Promise<number> {
  let count = 0;
  for (let after = 0 as Seq; ;) {
    const page = await store.reads.events(benchOwner, session, { after, limit: pageSize });
    if (page === null) throw new Error(`The session ${session} is gone.`);
    count += page.events.length;
    const last = page.events.at(-1);
    if (!page.more || last === undefined) return count;
    after = last.seq;
  }
}
