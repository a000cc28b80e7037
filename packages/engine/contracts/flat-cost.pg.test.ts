import { databases } from "@holdfast/testing/databases/databases";

import { flatCostContract } from "./flat-cost.suite.test.ts";

for (const database of databases) flatCostContract(database);
