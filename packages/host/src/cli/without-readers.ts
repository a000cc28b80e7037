import type { Writable } from "node:stream";
import { systemCode } from "../util/outcome.ts";

/** What a shell says of a program that wrote to a pipe that nobody reads. */
const brokenPipeExitCode = 128 + 13;

/** `holdfast sessions list | head` has seen enough: that is no failure, and nothing to be told. */
export function exitOnBrokenPipe(
  { stdout, stderr }: { readonly stdout: Writable; readonly stderr: Writable },
  leave: (code: number) => void,
): void {
  stdout.on("error", (error) => {
    if (systemCode(error) !== "EPIPE") throw error;
    leave(brokenPipeExitCode);
  });
  // Whoever does not read complaints still wants the work done.
  stderr.on("error", (error) => {
    if (systemCode(error) !== "EPIPE") throw error;
  });
}
