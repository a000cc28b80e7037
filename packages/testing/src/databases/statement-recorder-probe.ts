// A probe for SQLite's writer: appends each statement as a line to the file named in its URL.
import { appendFileSync } from "node:fs";

import { installProbe } from "@holdfast/store/sqlite";

const to = new URL(import.meta.url).searchParams.get("to");

installProbe((sql) => {
  if (to !== null) appendFileSync(to, `${sql.replaceAll(/\s+/g, " ").trim()}\n`);
});
