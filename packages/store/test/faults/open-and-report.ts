// Opens the store in each of the given files and prints the results.
import { writeSync } from "node:fs";

import { OpenFailure } from "../../src/shared/open-failure.ts";
import { openSqliteStore } from "../../src/sqlite/store.ts";

for (const file of process.argv.slice(2)) {
  try {
    const store = await openSqliteStore({ file });
    await store.close();
    writeSync(1, "opened\n");
  } catch (error) {
    const known = error instanceof OpenFailure;
    writeSync(1, `${known ? `${error.code} ${error.message}` : String(error)}\n`);
  }
}
