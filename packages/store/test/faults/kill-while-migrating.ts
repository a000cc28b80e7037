// A process that is killed in the middle of many migrations: each file is blocked before another statement of its
// migration, with the transaction open, and then kill -9 takes them all.
import { copyFileSync, existsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { constants } from "node:sqlite";

import { connect, type Connection } from "../../src/sqlite/connection.ts";
import { migrate } from "../../src/sqlite/migrate.ts";

const [, , folder = "", from = ""] = process.argv;
const held: Connection[] = [];
/** The authorizer actions that SQLite reports once per statement: indexes, tables, pragmas, transactions. */
const statements = new Set([1, 2, 19, 22]);

/** Whether the migration has this many statements. */
async function holdAt(nth: number): Promise<boolean> {
  const file = join(folder, `${from}-${nth}.db`);
  const old = join(folder, `${from}.db`);
  if (existsSync(old)) copyFileSync(old, file);
  const connection = connect({ file, access: "write" });
  held.push(connection);
  let count = 0;
  connection.database.setAuthorizer((action) => {
    if (statements.has(action)) count += 1;
    return count >= nth ? constants.SQLITE_DENY : constants.SQLITE_OK;
  });
  const exec = (sql: string): void => {
    if (sql !== "ROLLBACK") connection.exec(sql);
  };
  try {
    await migrate({ ...connection, exec });
    return false;
  } catch {
    return true;
  }
}

let nth = 1;
while (await holdAt(nth)) nth += 1;
writeSync(1, `${nth - 1}\n`);
process.kill(process.pid, "SIGKILL");
