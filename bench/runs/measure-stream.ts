import { systemClock } from "@holdfast/engine";
import type { Seq, SessionId } from "@holdfast/protocol";

import { Samples } from "../harness/samples.ts";
import {
  admit,
  createSessions,
  deltasPerSecond,
  type Engine,
  follow,
  openEngine,
  startRuns,
} from "./engine.ts";
import { ProcessMeter, summaryOf } from "./meters.ts";
import { agesOf, machineNow } from "./delta-timestamps.ts";
import type { Assignment, Streamed } from "./tasks.ts";

const admitEveryMs = 20;

/** Every run streams and is watched while people keep writing; measures the cost for a while. */
export async function measureStream({ address, task }: Assignment<"stream">): Promise<Streamed> {
  const engine = await openEngine(address);
  const sessions = await createSessions(engine, task.runs);
  let delivery = new Samples();
  for (const session of sessions) {
    void follow(engine, session, 0 as Seq, (text) => delivery.addAll(agesOf(text, machineNow())));
  }
  engine.runner.start();
  await startRuns(engine, sessions);
  let admission = new Samples();
  void keepAdmitting(engine, sessions, (ms) => admission.add(ms));
  await systemClock.sleep(task.warmMs);

  const meter = new ProcessMeter();
  delivery = new Samples();
  admission = new Samples();
  engine.meter.reset();
  const givenBefore = engine.model.given;
  meter.start();
  await systemClock.sleep(task.ms);
  const { ms, cpuPercent, loop } = meter.stop();
  const perSecond = (count: number): number => (count / ms) * 1_000;
  return {
    deltasPerSecond: perSecond(delivery.count),
    wantedPerSecond: Math.max(
      perSecond(engine.model.given - givenBefore),
      task.runs * deltasPerSecond,
    ),
    commitsPerSecond: perSecond(engine.meter.times.count),
    commit: summaryOf(engine.meter.times),
    delivery: summaryOf(delivery),
    admission: summaryOf(admission),
    loop,
    cpuPercent,
  };
}

/** To sessions with a live run, so that messages queue up and no more runs start. */
async function keepAdmitting(
  engine: Engine,
  sessions: readonly SessionId[],
  onTime: (ms: number) => void,
): Promise<void> {
  for (let turn = 0; ; turn += 1) {
    const session = sessions[turn % sessions.length];
    if (session === undefined) return;
    const startedAt = performance.now();
    await admit(engine, session);
    onTime(performance.now() - startedAt);
    await systemClock.sleep(admitEveryMs);
  }
}
