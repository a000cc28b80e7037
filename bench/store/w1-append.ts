import { openTestSession, type TestSession } from "@holdfast/testing/fixtures/open-session";

import { bare, bareInThread, type Line, ours } from "../harness/figures.ts";
import { interleaveApart } from "../harness/interleave.ts";
import { Samples } from "../harness/samples.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { type Bench, loopLine } from "./bench.ts";
import { messageEvent } from "./fill.ts";
import { growLog } from "./streams.ts";

const history = 100;

/** One message after the other: each is durable, and list, preview and counts are current, before the next begins. */
export const appendAlone: WorkloadDefinition<Bench> = {
  id: "W1.alone",
  title: "durable append, one at a time",
  async measure({ backend, corpus, sizes, baselines }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    await growLog(store);
    await using driver = await database.openBare();
    const thread = await database.openBareThread?.();
    const session = await openTestSession(store);
    const others = baselines.open(database.folder);
    const messages = Array.from({ length: history }, (_, index) => corpus.at(index));
    const bytes = new Samples();

    const measured = await interleaveApart(
      [
        {
          name: ours,
          perRound: 25,
          watchLoop: true,
          run: (turn) => session.commit([messageEvent(corpus, turn)]),
        },
        {
          name: bare,
          perRound: 25,
          run(turn) {
            const text = JSON.stringify(messageEvent(corpus, turn).data);
            bytes.add(Buffer.byteLength(text));
            return driver.insert(text);
          },
        },
        ...(thread === undefined
          ? []
          : [
              {
                name: bareInThread,
                perRound: 25,
                run: (turn: number) =>
                  thread.insert(JSON.stringify(messageEvent(corpus, turn).data)),
              },
            ]),
      ],
      others.map((other) => ({
        name: other.name,
        perRound: 5,
        run(turn: number) {
          messages.push(corpus.at(history + turn));
          return other.save("a-session", messages);
        },
      })),
      sizes.pace,
    );
    others.forEach((other) => other.close());
    await thread?.[Symbol.asyncDispose]();
    await store.close();

    const params = { historyOfBaselines: history, meanBytes: Math.round(bytes.mean) };
    const [mine, limit] = [measured.of(ours), measured.of(bare)];
    const allowed = limit.p50 + 0.2;
    const systems = [
      ours,
      bare,
      ...(thread ? [bareInThread] : []),
      ...others.map((other) => other.name),
    ];
    const lines: Line[] = [
      {
        what: "append, p50",
        params,
        figures: systems.map((system) => {
          const samples = measured.of(system);
          const { p50: value, p99, max, mean, count } = samples;
          return { system, value, unit: "ms", more: { p99, max, mean, count } };
        }),
        bound: { text: `≤ + 0.2 ms (${allowed.toFixed(2)} ms)`, met: mine.p50 <= allowed },
      },
      {
        what: "append, p99",
        params,
        figures: systems.map((system) => ({ system, value: measured.of(system).p99, unit: "ms" })),
      },
      {
        what: "appends a second",
        params,
        figures: systems.map((system) => ({
          system,
          value: 1_000 / measured.of(system).mean,
          unit: "/s",
        })),
      },
      loopLine(measured.loop),
    ];
    return {
      lines,
      notes: [
        "In a thread: the bare driver's insert, asked for by a message and answered by one. The difference to the bare driver is what waking two threads takes.",
      ],
    };
  },
};

/** A page and its header in the write-ahead log. */
const sqliteFrameBytes = 4_096 + 24;

/** What an append writes to the disk: whole pages of the write-ahead log. */
export const appendBytes: WorkloadDefinition<Bench> = {
  id: "W1.bytes",
  title: "bytes written for an append",
  async measure({ backend, corpus, sizes }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open({ keepLog: true });
    await using driver = await database.openBare("kept");
    const session = await openTestSession(store);
    const count = Math.min(200, sizes.pace.rounds * 10);
    let payload = 0;
    for (let turn = 0; turn < count; turn += 1) {
      payload += Buffer.byteLength(JSON.stringify(messageEvent(corpus, turn).data));
    }
    const mine = await growth(database, () => appendAll(session, corpus, count));
    const limit = await growth(driver, async () => {
      for (let turn = 0; turn < count; turn += 1) {
        await driver.insert(JSON.stringify(messageEvent(corpus, turn).data));
      }
    });
    await store.close();
    const frames = mine / count / sqliteFrameBytes;
    return {
      lines: [
        {
          what: "write-ahead log for an append",
          params: { appends: count, payloadBytes: Math.round(payload / count) },
          figures: [
            { system: ours, value: mine / count, unit: "bytes" },
            { system: bare, value: limit / count, unit: "bytes" },
          ],
          ...(backend.name === "sqlite" && {
            bound: { text: `≤ 4 pages (${frames.toFixed(1)})`, met: frames <= 4 },
          }),
        },
      ],
    };
  },
};

async function appendAll(
  session: TestSession,
  corpus: Bench["corpus"],
  count: number,
): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await session.commit([messageEvent(corpus, turn)]);
}

async function growth(
  meter: { walBytes(): Promise<number> },
  work: () => Promise<void>,
): Promise<number> {
  const before = await meter.walBytes();
  await work();
  return (await meter.walBytes()) - before;
}
