import { databases } from "@holdfast/testing/databases/databases";

import { agentsContract } from "./agents.ts";

for (const database of databases) agentsContract(database);
