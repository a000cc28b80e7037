import { databases } from "@holdfast/testing/databases/databases";

import { compactionContract } from "./compaction.ts";

for (const database of databases) compactionContract(database);
