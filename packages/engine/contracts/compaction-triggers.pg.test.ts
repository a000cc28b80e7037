import { databases } from "@holdfast/testing/databases/databases";

import { compactionTriggersContract } from "./compaction-triggers.suite.test.ts";

for (const database of databases) compactionTriggersContract(database);
