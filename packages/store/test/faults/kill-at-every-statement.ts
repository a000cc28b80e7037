// A process that is killed in the middle of everything. It runs the program on one store per statement; from that
// statement on nothing reaches this store, and its transaction stays open. Once every store is blocked at its own
// statement, kill -9 takes them all. Everything acknowledged was printed before.
import { copyFileSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { deserialize } from "node:v8";

import { connect, type Connection } from "../../src/sqlite/connection.ts";
import { GroupWriter } from "../../src/sqlite/write/group-writer.ts";
import { allSucceeded, groupTime } from "./database-dump.ts";
import type { WriteProgram } from "./write-program.ts";

const folder = process.argv[2] ?? "";
const program = deserialize(readFileSync(join(folder, "program"))) as WriteProgram;
/** Nothing may close a blocked store, not even the garbage collector. */
const held: Connection[] = [];

/** Whether the program has this many statements. */
async function holdAt(nth: number): Promise<boolean> {
  const file = join(folder, `${nth}.db`);
  copyFileSync(join(folder, "template.db"), file);
  let count = 0;
  const connection = connect({
    file,
    access: "write",
    probe() {
      count += 1;
      if (count >= nth) throw new Error("held");
    },
  });
  // What was written survives the process without a sync: syncs are for power cuts.
  connection.database.exec("PRAGMA synchronous = OFF");
  held.push(connection);
  const open = (): Connection => ({ ...connection, close() {} });
  const writer = new GroupWriter({ open, busyMs: 1_000, checkpointPages: 1 });
  for (const [index, group] of program.entries()) {
    if (!allSucceeded(writer.run(group, () => groupTime(index)))) return true;
    writeSync(1, `acknowledged ${nth} ${index}\n`);
    writer.afterReply();
  }
  return count >= nth;
}

let statements = 1;
while (await holdAt(statements)) statements += 1;
writeSync(1, `held ${statements - 1}\n`);
process.kill(process.pid, "SIGKILL");
