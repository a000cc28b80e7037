import { join } from "node:path";

import type { Store } from "@holdfast/engine";
import { aDelta, aMessageId, anEvent } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";

import { type Line, lineOf } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { growLog } from "../store/streams.ts";
import { type Stint, startWriter } from "../store/writer-client.ts";
import type { Bench } from "./bench.ts";
import { benchOwner } from "./engine.ts";
import { startEngine } from "./engine-client.ts";
import { idleFigure, idleNote, startIdle } from "./idle-client.ts";
import { appendsBeforeMs } from "./tasks.ts";

/** Kills a process while its runs stream, and boots another one in its place. */
export const recoverLiveRuns: WorkloadDefinition<Bench> = {
  id: "recovery.runs",
  title: "live runs after kill -9",
  async measure({ backend, sizes }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    await growLog(store);
    const runs = sizes.recovered;
    await using first = startEngine("hold", database.address, { runs });
    const sessions = await first.answer;
    await first.kill();
    await using second = startEngine("takeOver", database.address, { sessions, calmMs: 0 });
    const { sinceStart, sinceOpening, sinceRunner } = await second.answer;
    await second.kill();
    await store.close();
    const params = { runs };
    return {
      lines: [
        lineOf(`${runs} runs go on, since the store was opened`, sinceOpening, "ms", {
          params,
          below: 1_000,
        }),
        lineOf(`${runs} runs go on, since the first look for work`, sinceRunner, "ms", { params }),
        lineOf(`${runs} runs go on, since the process was started`, sinceStart, "ms", { params }),
      ],
      notes: ["A run goes on when words that it said after the take-over are durable and seen."],
    };
  },
};

const deltasPerCommit = 500;
/** A hundred thousand of them still fit into one message. */
const word = "word ";
const calmMs = 4_000;

/** One run with a long journal, while another process, and another session of the same one, keep writing. */
export const recoverLongJournal: WorkloadDefinition<Bench> = {
  id: "recovery.journal",
  title: "one run with a long journal",
  async measure({ backend, sizes }: Bench) {
    const events = sizes.longJournal;
    const prepared = await backend.prepareDatabase(`journal-${events}`, async (store) => ({
      sessions: [await fillJournal(store, events)],
    }));
    await using database = prepared.database;
    const writer = await startWriter({
      kind: "store",
      address: database.address,
      folder: database.folder,
      text: "Hello",
    });
    const before = await writer.work(2_000);
    await using engine = startEngine("takeOver", database.address, {
      sessions: prepared.known["sessions"] ?? [],
      calmMs,
    });
    await using idle = startIdle({
      file: join(database.folder, "idle"),
      delayMs: 0,
      ms: calmMs + appendsBeforeMs,
    });
    const taken = await untilAnswered(engine.answer, () => writer.work(250));
    const floor = idleFigure((await idle.answer).sync.max);
    await engine.kill();
    await writer.stop();
    const { sinceRunner, loop, appendsBefore, appendsMeanwhile } = taken.answer;
    const [calm, meanwhile] = [longest([before]), longest(taken.stints)];
    const params = { events };
    const append = (what: string, ms: number): Line => {
      const line = lineOf(what, ms, "ms", { params, below: 20 });
      return { ...line, figures: [...line.figures, floor] };
    };
    return {
      lines: [
        lineOf("goes on, since the first look for work", sinceRunner, "ms", { params, below: 300 }),
        append("longest append of another process", meanwhile),
        lineOf("longest append of another process, before", calm, "ms", { params }),
        append("longest append of the same process", appendsMeanwhile.max),
        lineOf("longest append of the same process, before", appendsBefore.max, "ms", { params }),
        lineOf("event-loop delay, longest", loop.max, "ms", { params }),
      ],
      notes: [
        `Appends are watched until ${calmMs / 1_000} s after the run went on.`,
        `${idleNote} Beside an append stands its longest write.`,
      ],
    };
  },
};

/** A run in the middle of its answer, held by nobody any more. */
async function fillJournal(store: Store, count: number): Promise<string> {
  const session = await openTestSession(store, {}, benchOwner);
  const { runId, under } = await session.startRun();
  await session.commit([anEvent("step.started", { step: 1, model: "paced" }, runId)], { under });
  const messageId = aMessageId();
  for (let done = 0; done < count; done += deltasPerCommit) {
    const batch = Math.min(deltasPerCommit, count - done);
    const deltas = Array.from({ length: batch }, () => aDelta(runId, word, messageId));
    await session.commit(deltas, { under });
  }
  const lease = await store.leases.read("run", session.session);
  if (lease === null) throw new Error("The lease is gone.");
  await store.leases.release(lease);
  return session.session;
}

async function untilAnswered<T>(
  answer: Promise<T>,
  work: () => Promise<Stint>,
): Promise<{ readonly answer: T; readonly stints: readonly Stint[] }> {
  const stints: Stint[] = [];
  const over = new AbortController();
  const answered = answer.finally(() => over.abort());
  answered.catch(() => {});
  while (!over.signal.aborted) stints.push(await work());
  return { answer: await answered, stints };
}

function longest(stints: readonly Stint[]): number {
  return stints.reduce((most, { times }) => Math.max(most, ...times), 0);
}
