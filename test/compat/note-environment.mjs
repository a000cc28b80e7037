// Preloaded into a host with --import: records the name of every environment variable that the host reads.
import { appendFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const file = process.env.SURFACE_VARIABLES;
const recorded = new Set();

process.env = new Proxy(process.env, {
  get(environment, name) {
    if (typeof name === "string" && !recorded.has(name)) {
      recorded.add(name);
      appendFileSync(file, `${name}\n`);
    }
    return environment[name];
  },
});
syncBuiltinESMExports();
