import { databases } from "@holdfast/testing/databases/databases";

import { fencingContract } from "./fencing.suite.test.ts";

for (const database of databases) fencingContract(database);
