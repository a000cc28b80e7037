import { databases } from "@holdfast/testing/databases/databases";

import { runInboxContract } from "./run-inbox.ts";

for (const database of databases) runInboxContract(database);
