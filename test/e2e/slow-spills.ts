import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";

// Preloaded into a host: while the file HOLDFAST_TEST_SLOW_SPILLS exists, opening a spill file never completes. Each
// attempt adds a line to it.
const gate = process.env["HOLDFAST_TEST_SLOW_SPILLS"];
const { open } = fs.promises;

if (gate !== undefined) {
  fs.promises.open = async (file, ...rest) => {
    if (String(file).endsWith(".spill") && fs.existsSync(gate)) {
      fs.appendFileSync(gate, "opened\n");
      while (fs.existsSync(gate)) await sleep(20);
    }
    return open(file, ...rest);
  };
  syncBuiltinESMExports();
}
