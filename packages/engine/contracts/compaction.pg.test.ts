import { databases } from "@holdfast/testing/databases/databases";

import { compactionContract } from "./compaction.suite.test.ts";

for (const database of databases) compactionContract(database);
