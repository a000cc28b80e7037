import { systemClock } from "@holdfast/engine";
import type { Seq, SessionId } from "@holdfast/protocol";

import { createSessions, type Engine, openEngine, benchOwner, startRuns, until } from "./engine.ts";
import type { Assignment, Tasks } from "./tasks.ts";

const warmUp = 20;

/** The heap per watched session, and per live run. */
export async function measureMemory({
  address,
  task,
}: Assignment<"memory">): Promise<Tasks["memory"]["result"]> {
  const engine = await openEngine(address);
  const { runner, model, meter } = engine;
  runner.start();
  const first = await createSessions(engine, warmUp);
  const idle = await createSessions(engine, task.idle);
  const live = await createSessions(engine, task.runs);
  await watchQuietly(engine, first);
  await startRuns(engine, first);
  await systemClock.sleep(task.ms / 2);
  model.finish();
  await runner.idle();

  const empty = await collectedHeap();
  await watchQuietly(engine, idle);
  const watched = await collectedHeap();
  meter.reset();
  await startRuns(engine, live);
  await systemClock.sleep(task.ms);
  meter.reset();
  const running = await collectedHeap();
  const deltas = meter.deltas;
  return {
    perIdle: (watched - empty) / task.idle,
    perRun: (running - watched) / task.runs,
    deltas,
  };
}

/** Reads each session to its end and waits for more, like a page that is left open. */
async function watchQuietly({ log }: Engine, sessions: readonly SessionId[]): Promise<void> {
  let caughtUp = 0;
  for (const session of sessions) {
    const tail = log.tail(benchOwner, session, 0 as Seq)[Symbol.asyncIterator]();
    const keepReading = async (): Promise<void> => {
      await tail.next();
      caughtUp += 1;
      while ((await tail.next()).done !== true);
    };
    void keepReading();
  }
  await until(() => caughtUp === sessions.length);
}

async function collectedHeap(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("Start this process with --expose-gc.");
  for (let round = 0; round < 3; round += 1) {
    await systemClock.sleep(20);
    globalThis.gc({ execution: "sync", type: "major" });
  }
  return process.memoryUsage().heapUsed;
}
