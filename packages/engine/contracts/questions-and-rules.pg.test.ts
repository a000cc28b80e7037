import { databases } from "@holdfast/testing/databases/databases";

import { questionsAndRulesContract } from "./questions-and-rules.suite.test.ts";

for (const database of databases) questionsAndRulesContract(database);
