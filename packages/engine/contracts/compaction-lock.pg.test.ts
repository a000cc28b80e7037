import { databases } from "@holdfast/testing/databases/databases";

import { compactionLockContract } from "./compaction-lock.suite.test.ts";

for (const database of databases) compactionLockContract(database);
