import { databases } from "@holdfast/testing/databases/databases";

import { skillsContract } from "./skills.suite.test.ts";

for (const database of databases) skillsContract(database);
