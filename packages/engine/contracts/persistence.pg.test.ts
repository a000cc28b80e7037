import { databases } from "@holdfast/testing/databases/databases";

import { persistenceContract } from "./persistence.suite.test.ts";

for (const database of databases) persistenceContract(database);
