import { databases } from "@holdfast/testing/databases/databases";

import { eventOrderContract } from "./event-order.ts";

for (const database of databases) eventOrderContract(database);
