import { databases } from "@holdfast/testing/databases/databases";

import { compactionAndDeleteContract } from "./compaction-and-delete.ts";

for (const database of databases) compactionAndDeleteContract(database);
