export { type Kept, KeptSchedules, type ScheduleChange, viewSchedule } from "./kept-schedules.ts";
export { createScheduler, type Scheduler } from "./scheduler.ts";
export { isTimeZone } from "./zone.ts";
