import { databases } from "@holdfast/testing/databases/databases";

import { lateJournalWaitsContract } from "./late-journal-waits.suite.test.ts";

for (const database of databases) lateJournalWaitsContract(database);
