import { databases } from "@holdfast/testing/databases/databases";

import { historyContract } from "./history.suite.test.ts";

for (const database of databases) historyContract(database);
