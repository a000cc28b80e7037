import { type Started, started, startTask } from "../harness/task.ts";
import type { StoreAddress } from "../store/bench-database.ts";
import { buildEngine, compileCache } from "./build-engine.ts";
import type { TaskName, Tasks } from "./tasks.ts";

export function startEngine<Name extends TaskName>(
  name: Name,
  address: StoreAddress,
  task: Tasks[Name]["task"],
): Started<Tasks[Name]["result"]> {
  const child = startTask(
    buildEngine(),
    { name, address, task },
    { execArgv: ["--expose-gc"], env: { ...process.env, NODE_COMPILE_CACHE: compileCache } },
  );
  // Each task has its own kind of result, and the process was started for this one.
  return started(child, (message) => message as Tasks[Name]["result"]);
}
