import { databases } from "@holdfast/testing/databases/databases";

import { fsckContract } from "./fsck.ts";

for (const database of databases) fsckContract(database);
