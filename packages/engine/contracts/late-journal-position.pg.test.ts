import { databases } from "@holdfast/testing/databases/databases";

import { lateJournalPositionContract } from "./late-journal-position.suite.test.ts";

for (const database of databases) lateJournalPositionContract(database);
