export { createRehearsalModel } from "./rehearsal.ts";
export { createTitler } from "./titler.ts";
