// Waits until its standard input ends, like others beside it, and then brings each of the files up to date.
import { once } from "node:events";
import { writeSync } from "node:fs";

import { connect } from "../../src/sqlite/connection.ts";
import { migrate } from "../../src/sqlite/migrate.ts";

writeSync(1, "waiting\n");
await once(process.stdin.resume(), "end");
for (const file of process.argv.slice(2)) {
  const connection = connect({ file, access: "write" });
  await migrate(connection);
  connection.close();
}
