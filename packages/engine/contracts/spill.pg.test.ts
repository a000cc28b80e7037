import { databases } from "@holdfast/testing/databases/databases";

import { spillContract } from "./spill.ts";

for (const database of databases) spillContract(database);
