import type { Store } from "@holdfast/engine";
import { TestSession } from "@holdfast/testing/fixtures/open-session";
import { sessionId } from "@holdfast/protocol";

import { bare, type Line, ours } from "../harness/figures.ts";
import {
  type Contender,
  interleave,
  interleaveApart,
  type Interleaved,
} from "../harness/interleave.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { atMost, type Bench, loopLine } from "./bench.ts";
import { fillSession, fillSessions, messageEvent, benchOwner } from "./fill.ts";
import type { BenchDatabase } from "./bench-database.ts";
import { growLog, openStream, type Stream } from "./streams.ts";

/** Something to write to, in a store of a given size. */
interface Spot {
  readonly size: number;
  readonly place: BenchDatabase;
  readonly session: TestSession;
  readonly stream: Stream;
}

const deltaText = "some words of an answer ";
const bytesCounted = 100;

/** P12: writing costs the same in a long session as in a short one. */
export const checkpointLongSessions: WorkloadDefinition<Bench> = {
  id: "W2.messages",
  title: "checkpoint in longer sessions",
  async measure({ backend, corpus, sizes, baselines }: Bench) {
    const key = `written-${corpus.key}-${sizes.written.join("-")}`;
    const { database, known } = await backend.prepareDatabase(key, async (store) => {
      const sessions: string[] = [];
      for (const count of sizes.written) sessions.push(await fillSession(store, corpus, count));
      return { sessions };
    });
    await using _ = database;
    await using driver = await database.openBare();
    const store = await database.open();
    await growLog(store);
    const spots: Spot[] = [];
    for (const [index, size] of sizes.written.entries())
      spots.push(await openSpot(database, store, known["sessions"]?.[index] ?? "", size));

    const others = baselines.open(database.folder);
    const saves = others.flatMap((other) =>
      sizes.written.map((size): Contender => {
        const messages = Array.from({ length: size }, (_each, index) => corpus.at(index));
        return {
          name: `${other.name} ${size}`,
          perRound: 1,
          run(turn) {
            messages.push(corpus.at(size + turn));
            return other.save(`session-${size}`, messages);
          },
        };
      }),
    );
    const measured = await interleaveApart(
      [...writesAt(spots, corpus), bareWrite(driver)],
      saves,
      sizes.pace,
    );
    others.forEach((other) => other.close());
    await store.close();
    const bytes = await countBytes(
      sizes.written.map((size, index) => ({
        size,
        place: database,
        session: known["sessions"]?.[index] ?? "",
      })),
    );
    const names = others.map((other) => other.name);
    return { lines: compare("messages", sizes.written, measured, bytes, names) };
  },
};

/** P12: writing costs the same among many sessions as among few. */
export const checkpointManySessions: WorkloadDefinition<Bench> = {
  id: "W2.sessions",
  title: "checkpoint among more sessions",
  async measure({ backend, corpus, sizes }: Bench) {
    await using stack = new AsyncDisposableStack();
    const spots: Spot[] = [];
    const counted: Counted[] = [];
    const stores: Store[] = [];
    for (const size of sizes.sessions) {
      const { database, known } = await backend.prepareDatabase(
        `sessions-${corpus.key}-${size}`,
        async (store) => ({ sessions: await fillSessions(store, corpus, size) }),
      );
      stack.use(database);
      const session = known["sessions"]?.[Math.floor(size / 2)] ?? "";
      const store = await database.open();
      stores.push(store);
      await growLog(store);
      spots.push(await openSpot(database, store, session, size));
      counted.push({ size, place: database, session });
    }
    const driver = stack.use(await spots[0]!.place.openBare());
    const measured = await interleave([...writesAt(spots, corpus), bareWrite(driver)], sizes.pace);
    for (const store of stores) await store.close();
    const bytes = await countBytes(counted);
    return { lines: compare("sessions", sizes.sessions, measured, bytes, []) };
  },
};

async function openSpot(
  database: BenchDatabase,
  store: Store,
  id: string,
  size: number,
): Promise<Spot> {
  const session = new TestSession(store, { owner: benchOwner, session: sessionId.parse(id) });
  return { size, place: database, session, stream: await openStream(session) };
}

function writesAt(spots: readonly Spot[], corpus: Bench["corpus"]): Contender[] {
  return spots.flatMap(({ size, session, stream }): Contender[] => [
    {
      name: `checkpoint ${size}`,
      perRound: 20,
      watchLoop: true,
      run: () => stream.commit([stream.delta(deltaText)]),
    },
    {
      name: `append ${size}`,
      perRound: 20,
      watchLoop: true,
      run: (turn) => session.commit([messageEvent(corpus, turn)]),
    },
  ]);
}

function bareWrite(driver: { insert(text: string): unknown }): Contender {
  const text = JSON.stringify({ messageId: "msg_0", text: deltaText });
  return { name: bare, perRound: 20, run: () => driver.insert(text) };
}

interface Counted {
  readonly size: number;
  readonly place: BenchDatabase;
  readonly session: string;
}

/** What a checkpoint writes to the log, counted apart from the times, with a log that is never reset. */
async function countBytes(counted: readonly Counted[]): Promise<ReadonlyMap<number, number>> {
  const bytes = new Map<number, number>();
  for (const { size, place: database, session } of counted) {
    const store = await database.open({ keepLog: true });
    const { stream } = await openSpotAgain(database, store, session, size);
    const before = await database.walBytes();
    for (let turn = 0; turn < bytesCounted; turn += 1)
      await stream.commit([stream.delta(deltaText)]);
    bytes.set(size, ((await database.walBytes()) - before) / bytesCounted);
    await store.close();
  }
  return bytes;
}

/** The first run still holds its lease, so the session is written to as its holder left it. */
async function openSpotAgain(
  database: BenchDatabase,
  store: Store,
  id: string,
  size: number,
): Promise<Spot> {
  const session = new TestSession(store, { owner: benchOwner, session: sessionId.parse(id) });
  const held = await store.leases.read("run", session.session);
  if (held !== null) await store.leases.release(held);
  return { size, place: database, session, stream: await openStream(session) };
}

function compare(
  of: "messages" | "sessions",
  sizes: readonly number[],
  measured: Interleaved,
  bytes: ReadonlyMap<number, number>,
  others: readonly string[],
): Line[] {
  const smallest = sizes[0] ?? 0;
  const largest = sizes.at(-1) ?? 0;
  const flat = (ratio: number): Pick<Line, "bound"> => ({
    bound: {
      text: `≤ 1.3× of ${smallest.toLocaleString("en")} (${ratio.toFixed(2)}×)`,
      met: ratio <= 1.3,
    },
  });
  const timed = (what: "checkpoint" | "append"): Line[] =>
    sizes.map((size) => {
      const samples = measured.of(`${what} ${size}`);
      const { p50: value, p99, mean, count } = samples;
      return {
        what: `${what} at ${size.toLocaleString("en")} ${of}, p50`,
        params: { [of]: size },
        figures: [
          { system: ours, value, unit: "ms", more: { p99, mean, count } },
          ...(what === "checkpoint"
            ? ([{ system: bare, value: measured.of(bare).p50, unit: "ms" }] as const)
            : others.map((system) => ({
                system,
                value: measured.of(`${system} ${size}`).p50,
                unit: "ms" as const,
              }))),
        ],
        ...(size === largest && flat(value / measured.of(`${what} ${smallest}`).p50)),
      };
    });
  const written = sizes.map((size): Line => {
    const value = bytes.get(size) ?? Number.NaN;
    return {
      what: `log written for a checkpoint at ${size.toLocaleString("en")} ${of}`,
      params: { [of]: size, checkpoints: bytesCounted },
      figures: [{ system: ours, value, unit: "bytes" }],
      ...(size === largest && { bound: atMost(value / (bytes.get(smallest) ?? Number.NaN), 1.3) }),
    };
  });
  return [...timed("checkpoint"), ...timed("append"), ...written, loopLine(measured.loop)];
}
