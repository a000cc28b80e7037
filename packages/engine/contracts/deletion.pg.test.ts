import { databases } from "@holdfast/testing/databases/databases";

import { deletionContract } from "./deletion.suite.test.ts";

for (const database of databases) deletionContract(database);
