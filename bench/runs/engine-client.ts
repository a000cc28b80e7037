import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import type { StoreAddress } from "../store/place.ts";
import type { TaskName, Tasks } from "./tasks.ts";

const script = fileURLToPath(new URL("./engine-process.ts", import.meta.url));

/** A process that was started for one task, and its answer. It ends when it is disposed of, if not before. */
export interface Started<Result> extends AsyncDisposable {
  readonly answer: Promise<Result>;
  /** As a crash does: at once, in the middle of whatever it does. */
  kill(): Promise<void>;
}

export function startEngine<Name extends TaskName>(
  name: Name,
  address: StoreAddress,
  task: Tasks[Name]["task"],
): Started<Tasks[Name]["result"]> {
  const execArgv = ["--expose-gc"];
  const child = fork(script, [JSON.stringify({ name, address, task })], { execArgv });
  // Each task has its own kind of result, and the process was started for this one.
  return started(child, (message) => message as Tasks[Name]["result"]);
}

export function started<Result>(
  child: ChildProcess,
  read: (message: unknown) => Result,
): Started<Result> {
  const exited = once(child, "exit");
  const answer = Promise.race([
    once(child, "message").then(([message]: unknown[]) => read(message)),
    exited.then(([code, signal]): Result => {
      throw new Error(`A measured process ended with ${String(code ?? signal)}.`);
    }),
  ]);
  // Whoever waits for it hears of it; nobody may be waiting when the process is ended on purpose.
  answer.catch(() => {});
  async function kill(): Promise<void> {
    child.kill("SIGKILL");
    await exited;
  }
  return { answer, kill, [Symbol.asyncDispose]: kill };
}
