import { type Started, started, startTask } from "../harness/index.ts";
import type { StoreAddress } from "../store/place.ts";
import type { TaskName, Tasks } from "./tasks.ts";

export function startEngine<Name extends TaskName>(
  name: Name,
  address: StoreAddress,
  task: Tasks[Name]["task"],
): Started<Tasks[Name]["result"]> {
  const script = new URL("./engine-process.ts", import.meta.url);
  const child = startTask(script, { name, address, task }, { execArgv: ["--expose-gc"] });
  // Each task has its own kind of result, and the process was started for this one.
  return started(child, (message) => message as Tasks[Name]["result"]);
}
