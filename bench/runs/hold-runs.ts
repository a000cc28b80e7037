import { createSessions, follow, openEngine, startRuns, until } from "./engine.ts";
import type { Seq } from "@holdfast/protocol";

import type { Assignment } from "./tasks.ts";

/** Streams runs, each with something durable, until the parent kills this process. */
export async function holdRuns({ address, task }: Assignment<"hold">): Promise<readonly string[]> {
  const engine = await openEngine(address);
  const sessions = await createSessions(engine, task.runs);
  engine.runner.start();
  await startRuns(engine, sessions);
  const seen = new Set<string>();
  for (const session of sessions) void follow(engine, session, 0 as Seq, () => seen.add(session));
  await until(() => seen.size === sessions.length);
  return sessions;
}
