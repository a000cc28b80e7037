import { databases } from "@holdfast/testing/databases/databases";

import { lateJournalContract } from "./late-journal.ts";

for (const database of databases) lateJournalContract(database);
