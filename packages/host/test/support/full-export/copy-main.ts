import { createReadStream } from "node:fs";
import type { Store } from "@holdfast/engine";
import { openStoreAt, type StoreAddress } from "@holdfast/testing/databases/store-address";

import { copyExport } from "../../../src/ops/full-export/copy-export.ts";

// Imports a full export, and dies at the given write to the store: with an even number behind it, with an odd one before.
const [address = "", home = "", file = "", last = "0"] = process.argv.slice(2);
const store = await openStoreAt(JSON.parse(address) as StoreAddress, {});
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
  purge: (...session) => counted(() => store.purge(...session)),
  prune: (limit) => store.prune(limit),
  watch: (...watched) => store.watch(...watched),
  now: () => store.now(),
  close: () => store.close(),
};
const copied = await copyExport({ store: dying, home, open: () => createReadStream(file) });
await store.close();
process.stdout.write(`${writes}\n`);
process.exitCode = copied.status === "copied" ? 0 : 1;
