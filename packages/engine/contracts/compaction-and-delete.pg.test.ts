import { databases } from "@holdfast/testing/databases/databases";

import { compactionAndDeleteContract } from "./compaction-and-delete.suite.test.ts";

for (const database of databases) compactionAndDeleteContract(database);
