import { databases } from "@holdfast/testing/databases/databases";

import { runCheckpointsContract } from "./run-checkpoints.suite.test.ts";

for (const database of databases) runCheckpointsContract(database);
