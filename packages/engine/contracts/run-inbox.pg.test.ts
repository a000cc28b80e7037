import { databases } from "@holdfast/testing/databases/databases";

import { runInboxContract } from "./run-inbox.suite.test.ts";

for (const database of databases) runInboxContract(database);
