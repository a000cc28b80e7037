import { type ChildProcess, fork, type ForkOptions } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Starts a process for a task. It ends with its parent, when their channel closes. */
export function startTask(script: URL, task: unknown, options: ForkOptions = {}): ChildProcess {
  return fork(fileURLToPath(script), [JSON.stringify(task)], options);
}

/** In that process: the task it was started for. */
export function takeTask<Task>(): Task {
  process.once("disconnect", () => process.exit(0));
  // Written by the parent process.
  return JSON.parse(process.argv[2] ?? "{}") as Task;
}

/** A process that was started for one task, and its answer. It ends when disposed of, if not before. */
export interface Started<Result> extends AsyncDisposable {
  readonly answer: Promise<Result>;
  /** Like a crash: at once, in the middle of whatever it does. */
  kill(): Promise<void>;
}

/** Its next message. */
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
  // Whoever awaits the answer sees the error; nobody may be waiting when the process is ended on purpose.
  answer.catch(() => {});
  async function kill(): Promise<void> {
    child.kill("SIGKILL");
    await exited;
  }
  return { answer, kill, [Symbol.asyncDispose]: kill };
}
