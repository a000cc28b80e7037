import { databases } from "@holdfast/testing/databases/databases";

import { historyContract } from "./history.ts";

for (const database of databases) historyContract(database);
