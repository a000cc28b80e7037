import { databases } from "@holdfast/testing/databases/databases";

import { runOutputShownContract } from "./run-output-shown.ts";

for (const database of databases) runOutputShownContract(database);
