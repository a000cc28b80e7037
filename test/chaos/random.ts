export { type Chance, seededChance } from "@holdfast/engine/testing";
