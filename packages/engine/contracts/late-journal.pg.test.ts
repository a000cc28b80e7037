import { databases } from "@holdfast/testing/databases/databases";

import { lateJournalContract } from "./late-journal.suite.test.ts";

for (const database of databases) lateJournalContract(database);
