import { databases } from "@holdfast/testing/databases/databases";

import { approvalsContract } from "./approvals.suite.test.ts";

for (const database of databases) approvalsContract(database);
