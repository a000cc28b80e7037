import { systemClock } from "@holdfast/engine";
import { aUserMessage } from "@holdfast/testing/fixtures/factories";
import { type SessionId, sessionId } from "@holdfast/protocol";

import { Samples } from "../harness/samples.ts";
import { createSessions, type Engine, follow, openEngine, benchOwner, until } from "./engine.ts";
import { ProcessMeter, type Summary, summaryOf } from "./meters.ts";
import { appendsBeforeMs, type Assignment, type TakenOver } from "./tasks.ts";

/** A host boots where another has died: the time until every run is claimed and its next output is durable. */
export async function takeOver({ address, task }: Assignment<"takeOver">): Promise<TakenOver> {
  const openingAt = performance.now();
  const engine = await openEngine(address);
  const sessions = task.sessions.map((id) => sessionId.parse(id));
  const goingOn = await watchAll(engine, sessions);
  const openedIn = performance.now() - openingAt;
  const appends = task.calmMs === 0 ? null : await startAppending(engine);
  if (appends !== null) await systemClock.sleep(appendsBeforeMs);
  const appendsBefore = appends?.take() ?? summaryOf(new Samples());
  const meter = new ProcessMeter();
  meter.start();
  const startedAt = performance.now();
  engine.runner.start();
  await until(() => goingOn.size === sessions.length);
  const now = performance.now();
  if (task.calmMs > 0) await pruneSettled(engine, now + task.calmMs);
  const sinceRunner = now - startedAt;
  return {
    sinceStart: openingAt + openedIn + sinceRunner,
    sinceOpening: openedIn + sinceRunner,
    sinceRunner,
    appendsBefore,
    appendsMeanwhile: appends?.take() ?? summaryOf(new Samples()),
    loop: meter.stop().loop,
  };
}

const batch = 500;
const pauseMs = 50;

/** Prunes settled deltas after the run like the host, at the same pace. */
async function pruneSettled({ store }: Engine, deadline: number): Promise<void> {
  while (performance.now() < deadline) {
    await store.prune(batch);
    await systemClock.sleep(pauseMs);
  }
}

/** From each session's head: what follows was written after the takeover. */
async function watchAll(
  engine: Engine,
  sessions: readonly SessionId[],
): Promise<ReadonlySet<SessionId>> {
  const goingOn = new Set<SessionId>();
  await Promise.all(
    sessions.map(async (session) => {
      const row = await engine.store.reads.session(benchOwner, session);
      if (row === null) throw new Error(`There is no session ${session}.`);
      void follow(engine, session, row.head, () => goingOn.add(session));
    }),
  );
  return goingOn;
}

/** Appends one message after the other to its own session, independent of the rest. */
async function startAppending(engine: Engine): Promise<{ take(): Summary }> {
  const [session] = await createSessions(engine, 1);
  if (session === undefined) throw new Error("There is no session to write to.");
  let times = new Samples();
  const go = async (): Promise<void> => {
    for (;;) {
      const startedAt = performance.now();
      await engine.log.commit({ owner: benchOwner, session, events: [aUserMessage("Hello")] });
      times.add(performance.now() - startedAt);
      await systemClock.sleep(1);
    }
  };
  void go();
  return {
    take() {
      const taken = summaryOf(times);
      times = new Samples();
      return taken;
    },
  };
}
