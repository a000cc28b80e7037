// Stands in for a test run: starts PostgreSQL, prints where it is, and holds it until it is killed.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { startPostgres } from "@holdfast/testing/postgres/start-postgres";

const server = await startPostgres();
const client = new Client({ connectionString: server.url });
await client.connect();
const { rows } = await client.query<{ data_directory: string }>("SHOW data_directory");
await client.end();
const folder = String(rows[0]?.data_directory);
const pid = readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0];
process.stdout.write(`holding ${pid} ${folder}\n`);
setInterval(() => {}, 60_000);
