import { databases } from "@holdfast/testing/databases/databases";

import { eventOrderContract } from "./event-order.suite.test.ts";

for (const database of databases) eventOrderContract(database);
