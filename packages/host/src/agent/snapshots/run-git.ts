import { launchServer } from "../../sandbox/launch.ts";

export interface GitRun {
  readonly program: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly signal: AbortSignal;
}

const timeLimitMs = 30_000;
const maxOutputBytes = 64 * 1024 * 1024;

/** Runs git, and returns what it printed; `null` if it failed, took too long or printed too much. */
export async function runGit(
  { program, folder, environment, input = "", signal }: GitRun,
  ...args: readonly string[]
): Promise<Buffer | null> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeLimitMs)]);
  if (limit.aborted) return null;
  const child = launchServer({ argv: [program, ...args], folder, environment });
  const { pid } = child;
  const stop = (): void => {
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  };
  limit.addEventListener("abort", stop, { once: true });
  const printed: Buffer[] = [];
  let room = maxOutputBytes;
  child.stdout.on("data", (bytes: Buffer) => {
    room -= bytes.length;
    if (room < 0) stop();
    else printed.push(bytes);
  });
  child.stderr.resume();
  // It may end without reading its input.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve) => {
    child.once("error", () => resolve(null));
    child.once("close", resolve);
  });
  limit.removeEventListener("abort", stop);
  return code === 0 && room >= 0 ? Buffer.concat(printed) : null;
}

/** The parts of output that ends each with NUL. Names that are no UTF-8 are left out: no tool can name them. */
export function partsOf(output: Buffer): readonly string[] {
  return [...eachPart(output)];
}

/** The same, one at a time. */
export function* eachPart(output: Buffer): Generator<string, void> {
  for (let from = 0; from < output.length;) {
    const end = output.indexOf(0, from);
    const bytes = output.subarray(from, end === -1 ? undefined : end);
    const text = bytes.toString("utf8");
    yield Buffer.byteLength(text) === bytes.length && !text.includes("\uFFFD") ? text : "";
    from += bytes.length + 1;
  }
}
