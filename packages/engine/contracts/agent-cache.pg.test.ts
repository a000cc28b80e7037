import { databases } from "@holdfast/testing/databases/databases";

import { agentCacheContract } from "./agent-cache.suite.test.ts";

for (const database of databases) agentCacheContract(database);
