import { databases } from "@holdfast/testing/databases/databases";

import { alternativesContract } from "./alternatives.suite.test.ts";

for (const database of databases) alternativesContract(database);
