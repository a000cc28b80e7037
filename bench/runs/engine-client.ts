import { spawnSync } from "node:child_process";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type Started, started, startTask } from "../harness/task.ts";
import type { StoreAddress } from "../store/bench-database.ts";
import type { TaskName, Tasks } from "./tasks.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const script = fileURLToPath(new URL("../../scripts/build-host.mjs", import.meta.url));
const source = fileURLToPath(new URL("./engine-process.ts", import.meta.url));
const home = new URL("../dist/", import.meta.url);
let isBuilt = false;

/** The engine's process and the store's threads, bundled as by `npm start`: people run those, not the sources. */
function buildEngine(): URL {
  if (!isBuilt) {
    const args = [script, fileURLToPath(home), `engine=${relative(root, source)}`];
    const built = spawnSync(process.execPath, args, { stdio: "inherit" });
    if (built.status !== 0) throw new Error("The engine could not be built.");
    isBuilt = true;
  }
  return new URL("engine.js", home);
}

const cache = new URL("../../node_modules/.cache/holdfast/compiled/", import.meta.url);
/** Like the host: later starts and threads reuse the compile cache of the first. */
const compileCache = fileURLToPath(cache);

/** The host limits its young generation to 16 MB, which decides how long a collection stops the event loop. */
const hostHeap = ["--max-semi-space-size=8"];

export function startEngine<Name extends TaskName>(
  name: Name,
  address: StoreAddress,
  task: Tasks[Name]["task"],
): Started<Tasks[Name]["result"]> {
  const child = startTask(
    buildEngine(),
    { name, address, task },
    {
      execArgv: ["--expose-gc", ...hostHeap],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    },
  );
  // Each task has its own type of result, and the process was started for this one.
  return started(child, (message) => message as Tasks[Name]["result"]);
}
