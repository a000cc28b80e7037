import { databases } from "@holdfast/testing/databases/databases";

import { memoryDurabilityContract } from "./memory-durability.suite.test.ts";

for (const database of databases) memoryDurabilityContract(database);
