import { writeSync } from "node:fs";

const clock = new Int32Array(new SharedArrayBuffer(4));

/** Returns when all of it is in the pipe: from then on the parent gets it, whatever happens to this process. */
export function writeLine(message: unknown): void {
  let left = Buffer.from(`${JSON.stringify(message)}\n`);
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(1, left));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
      Atomics.wait(clock, 0, 0, 1);
    }
  }
}
