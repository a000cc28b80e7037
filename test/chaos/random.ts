export { type Chance, seededChance } from "@holdfast/testing/simulator/chance";
