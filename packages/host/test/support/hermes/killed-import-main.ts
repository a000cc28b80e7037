import { join } from "node:path";
import type { Store } from "@holdfast/engine";
import { importSources } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { z } from "zod";

import { importInto, openTaker } from "./import-into.ts";

// Imports a home, and dies at the given write to the store: with an even number behind it, with an odd one before.
const [home = "", path = "", last = "0", source = "hermes"] = process.argv.slice(2);
const store = await openSqliteStore({ file: join(home, "holdfast.db") });
let writes = 0;

async function counted<T>(write: () => Promise<T>): Promise<T> {
  writes += 1;
  const isLast = writes === Number(last);
  if (isLast && writes % 2 === 1) process.kill(process.pid, "SIGKILL");
  const result = await write();
  if (isLast) process.kill(process.pid, "SIGKILL");
  return result;
}

const dying: Store = {
  kind: store.kind,
  reads: store.reads,
  leases: store.leases,
  work: store.work,
  requests: store.requests,
  search: store.search,
  audit: store.audit,
  register: {
    read: (...row) => store.register.read(...row),
    list: (...rows) => store.register.list(...rows),
    put: (change) => counted(() => store.register.put(change)),
  },
  commit: (commit) => counted(() => store.commit(commit)),
  putBlob: (...blob) => counted(() => store.putBlob(...blob)),
  purge: (...session) => store.purge(...session),
  prune: (limit) => store.prune(limit),
  watch: (...watched) => store.watch(...watched),
  now: () => store.now(),
  close: () => store.close(),
};
const { failure } = await importInto(await openTaker(home, dying), path, {
  source: z.enum(importSources).parse(source),
});
await store.close();
process.exitCode = failure === null ? 0 : 1;
