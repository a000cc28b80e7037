import { databases } from "@holdfast/testing/databases/databases";

import { runsAfterKillContract } from "./runs-after-kill.suite.test.ts";

for (const database of databases) runsAfterKillContract(database);
