import { databases } from "@holdfast/testing/databases/databases";

import { memoryAndEvictionContract } from "./memory-and-eviction.suite.test.ts";

for (const database of databases) memoryAndEvictionContract(database);
