export { type SeededRandom, seededRandom } from "@holdfast/testing/simulator/chance";
