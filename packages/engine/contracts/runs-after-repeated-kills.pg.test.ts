import { databases } from "@holdfast/testing/databases/databases";

import { runsAfterRepeatedKillsContract } from "./runs-after-repeated-kills.suite.test.ts";

for (const database of databases) runsAfterRepeatedKillsContract(database);
