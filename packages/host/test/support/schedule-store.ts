export { KeptSchedules } from "../../src/automation/schedules/schedule-store.ts";
