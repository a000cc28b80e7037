import { databases } from "@holdfast/testing/databases/databases";

import { compactionLockContract } from "./compaction-lock.ts";

for (const database of databases) compactionLockContract(database);
