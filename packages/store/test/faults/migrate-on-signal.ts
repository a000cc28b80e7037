// Waits until its standard input ends, like other processes beside it, and then migrates each of the files.
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
