import { databases } from "@holdfast/testing/databases/databases";

import { leasesContract } from "./leases.suite.test.ts";

for (const database of databases) leasesContract(database);
