import { databases } from "@holdfast/testing/databases/databases";

import { spillContract } from "./spill.suite.test.ts";

for (const database of databases) spillContract(database);
