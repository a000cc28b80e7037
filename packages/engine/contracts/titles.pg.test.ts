import { databases } from "@holdfast/testing/databases/databases";

import { titlesContract } from "./titles.suite.test.ts";

for (const database of databases) titlesContract(database);
