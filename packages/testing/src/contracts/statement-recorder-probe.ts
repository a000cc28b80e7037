// A probe for SQLite's writer: writes down each statement, one to a line, in the file that its address names.
import { appendFileSync } from "node:fs";

import { installProbe } from "@holdfast/store/sqlite";

const to = new URL(import.meta.url).searchParams.get("to");

installProbe((sql) => {
  if (to !== null) appendFileSync(to, `${sql.replaceAll(/\s+/g, " ").trim()}\n`);
});
