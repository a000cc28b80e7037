import { databases } from "@holdfast/testing/databases/databases";

import { runOutputShownContract } from "./run-output-shown.suite.test.ts";

for (const database of databases) runOutputShownContract(database);
