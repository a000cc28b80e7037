import { createReadStream } from "node:fs";
import { openStoreAt, type StoreAddress } from "@holdfast/testing/databases/store-address";

import { copyExport } from "../../../src/ops/full-export/copy-export.ts";
import { dieAtWrite } from "../dying-store.ts";

// Imports a full export, and dies at the given write to the store.
const [address = "", home = "", file = "", last = "0"] = process.argv.slice(2);
const store = await openStoreAt(JSON.parse(address) as StoreAddress, {});
const dying = dieAtWrite(store, Number(last));
const copied = await copyExport({ store: dying.store, home, open: () => createReadStream(file) });
await store.close();
process.stdout.write(`${dying.writes()}\n`);
process.exitCode = copied.status === "copied" ? 0 : 1;
