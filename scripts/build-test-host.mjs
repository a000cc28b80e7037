// The host, and the entries that tests start again and again.
import { testEntries } from "./host-entries.ts";

process.argv.push(...Object.entries(testEntries).map(([name, path]) => `${name}=${path}`));
await import("./build-host.mjs");
