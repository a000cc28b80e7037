import { databases } from "@holdfast/testing/databases/databases";

import { runsAfterKillContract } from "./runs-after-kill.ts";

for (const database of databases) runsAfterKillContract(database);
