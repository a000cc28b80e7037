import { databases } from "@holdfast/testing/databases/databases";

import { memoryContract } from "./memory.suite.test.ts";

for (const database of databases) memoryContract(database);
