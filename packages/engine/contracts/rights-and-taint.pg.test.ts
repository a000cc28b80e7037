import { databases } from "@holdfast/testing/databases/databases";

import { rightsAndTaintContract } from "./rights-and-taint.suite.test.ts";

for (const database of databases) rightsAndTaintContract(database);
