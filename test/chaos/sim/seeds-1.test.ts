import { testSeeds } from "./seeds.ts";

testSeeds(1, 1_000);
