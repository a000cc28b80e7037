import { databases } from "@holdfast/testing/databases/databases";

import { deletionContract } from "./deletion.ts";

for (const database of databases) deletionContract(database);
