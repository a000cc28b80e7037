import { databases } from "@holdfast/testing/databases/databases";

import { agentsContract } from "./agents.suite.test.ts";

for (const database of databases) agentsContract(database);
