import { join } from "node:path";
import { importSources } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { z } from "zod";

import { dieAtWrite } from "../dying-store.ts";
import { importInto, openTaker } from "./import-into.ts";

// Imports a home, and dies at the given write to the store.
const [home = "", path = "", last = "0", source = "hermes"] = process.argv.slice(2);
const store = await openSqliteStore({ file: join(home, "holdfast.db") });
const dying = dieAtWrite(store, Number(last));
const { failure } = await importInto(await openTaker(home, dying.store), path, {
  source: z.enum(importSources).parse(source),
});
await store.close();
process.exitCode = failure === null ? 0 : 1;
