import { databases } from "@holdfast/testing/databases/databases";

import { fsckContract } from "./fsck.suite.test.ts";

for (const database of databases) fsckContract(database);
