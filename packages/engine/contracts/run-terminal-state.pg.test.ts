import { databases } from "@holdfast/testing/databases/databases";

import { runTerminalStateContract } from "./run-terminal-state.suite.test.ts";

for (const database of databases) runTerminalStateContract(database);
