import { DatabaseSync } from "node:sqlite";

/**
 * Runs as its own process during the file system check and prints what it sees of a database that its parent holds
 * open. It imports nothing else, so that the check stays fast.
 */
const [, , file] = process.argv;
if (file === undefined) throw new Error("Which file?");

const database = new DatabaseSync(file, { timeout: 0 });
process.stdout.write(
  `rows=${String(database.prepare("SELECT count(*) AS n FROM t").get()?.["n"])}\n`,
);
try {
  database.exec("BEGIN IMMEDIATE");
  process.stdout.write("lock=taken\n");
} catch {
  process.stdout.write("lock=kept\n");
}
database.close();
