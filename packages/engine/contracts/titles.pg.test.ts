import { databases } from "@holdfast/testing/databases/databases";

import { titlesContract } from "./titles.ts";

for (const database of databases) titlesContract(database);
