import { databases } from "@holdfast/testing/databases/databases";

import { questionsInCallsContract } from "./questions-in-calls.suite.test.ts";

for (const database of databases) questionsInCallsContract(database);
