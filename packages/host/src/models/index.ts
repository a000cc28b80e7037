export { createRehearsalModel } from "./rehearsal.ts";
