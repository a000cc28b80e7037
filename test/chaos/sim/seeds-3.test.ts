import { testSeeds } from "./seeds.ts";

testSeeds(2_001, 3_000);
