import { databases } from "@holdfast/testing/databases/databases";

import { runTerminalStateContract } from "./run-terminal-state.ts";

for (const database of databases) runTerminalStateContract(database);
