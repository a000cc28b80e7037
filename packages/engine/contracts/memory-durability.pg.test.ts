import { databases } from "@holdfast/testing/databases/databases";

import { memoryDurabilityContract } from "./memory-durability.ts";

for (const database of databases) memoryDurabilityContract(database);
