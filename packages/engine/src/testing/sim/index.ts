export { simulate, type SimFigure, type SimOptions, type SimResult } from "./simulate.ts";
export { type Chance, seededChance } from "./chance.ts";
export type { OpenSimStore, Plant } from "./world.ts";
export { forgottenSpill, plantedBugs } from "./planted-bugs.ts";
export type { Profile } from "./profile.ts";
