export { simulate, type SimFigure, type SimOptions, type SimResult } from "./simulate.ts";
export { type Chance, seededChance } from "./chance.ts";
export type { OpenSimStore, Plant } from "./world.ts";
export { plantedBugs } from "./planted-bugs.ts";
