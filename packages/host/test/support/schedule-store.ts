export { ScheduleStore } from "../../src/automation/schedules/schedule-store.ts";
