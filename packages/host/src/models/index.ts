export { createRehearsalModel, type RehearsalOptions } from "./rehearsal.ts";
