export {
  type Kept,
  KeptSchedules,
  type Schedule,
  type ScheduleChange,
  viewSchedule,
} from "./kept-schedules.ts";
export { createScheduler, type Scheduler } from "./scheduler.ts";
export { sayPrompt } from "./say-prompt.ts";
export { nextOccurrence } from "./occurrences.ts";
export { isTimeZone } from "./zone.ts";
