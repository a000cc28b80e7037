import { databases } from "@holdfast/testing/databases/databases";

import { sessionModesContract } from "./session-modes.suite.test.ts";

for (const database of databases) sessionModesContract(database);
