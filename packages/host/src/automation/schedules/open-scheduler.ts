import { type Log, type Runner, systemClock } from "@holdfast/engine";
import { ids, ownerId } from "@holdfast/protocol";

import { sessionFor } from "../../gateway/lane-session.ts";
import { createScheduler, type Scheduler } from "./schedules-scheduler.ts";
import { KeptSchedules } from "./schedule-store.ts";

/** Who says prompts at their times on this store, beside whichever other host does. */
export function openScheduler(
  log: Log,
  runner: Pick<Runner, "poke">,
  report: (bug: Error) => void,
): Scheduler {
  const { store } = log;
  return createScheduler({
    log,
    ids,
    clock: systemClock,
    owner: ownerId.parse("owner"),
    kept: new KeptSchedules(store.register, () => store.now()),
    runner,
    sessionFor: (owner, lane, key) => sessionFor({ log, owner }, lane, key),
    report,
  });
}
