import { type Log, type Runner, systemClock } from "@holdfast/engine";
import { ids, ownerId } from "@holdfast/protocol";

import { sessionForLane } from "../../gateway/lane-session.ts";
import { createScheduler, type Scheduler } from "./schedules-scheduler.ts";
import { ScheduleStore } from "./schedule-store.ts";

/** Who says prompts at their times on this store, beside whichever other host does. */
export function openScheduler(
  log: Log,
  runner: Pick<Runner, "notify">,
  report: (bug: Error) => void,
): Scheduler {
  const { store } = log;
  return createScheduler({
    log,
    ids,
    clock: systemClock,
    owner: ownerId.parse("owner"),
    store: new ScheduleStore(store.register, () => store.now()),
    runner,
    sessionFor: (owner, lane, key) => sessionForLane({ log, owner }, lane, key),
    report,
  });
}
