import { type ChildProcess, fork, type ForkOptions } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Starts a process for a task. It ends with us: its channel is its leash. */
export function startTask(script: URL, task: unknown, options: ForkOptions = {}): ChildProcess {
  return fork(fileURLToPath(script), [JSON.stringify(task)], options);
}

/** In that process: what it was started for. */
export function takeTask<Task>(): Task {
  process.once("disconnect", () => process.exit(0));
  // Written by the process that started this one.
  return JSON.parse(process.argv[2] ?? "{}") as Task;
}

/** A process that was started for one task, and its answer. It ends when it is disposed of, if not before. */
export interface Started<Result> extends AsyncDisposable {
  readonly answer: Promise<Result>;
  /** As a crash does: at once, in the middle of whatever it does. */
  kill(): Promise<void>;
}

/** The next thing that it says. */
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
