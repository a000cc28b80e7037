import { databases } from "@holdfast/testing/databases/databases";

import { changesInBetweenContract } from "./changes-in-between.suite.test.ts";

for (const database of databases) changesInBetweenContract(database);
