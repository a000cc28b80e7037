import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** So much of a process's output is kept: its beginning, and twice as much of its end. */
const segmentBytes = 256 * 1024;
const segmentName = (piece: number): string => `out.${piece}`;

/**
 * Keeps the beginning and the end of an output of any length in files of bounded size: the first piece, the newest one and
 * the one before it. Written at once, so that whoever kills the writer loses nothing of it.
 */
export function createOutputWriter(folder: string): { add(text: string): void } {
  let piece = 0;
  let written = 0;
  let file = openSync(join(folder, segmentName(piece)), "w", 0o600);
  function beginPiece(): void {
    const next = openSync(join(folder, segmentName(piece + 1)), "w", 0o600);
    closeSync(file);
    file = next;
    piece += 1;
    written = 0;
    if (piece > 2) rmSync(join(folder, segmentName(piece - 2)), { force: true });
  }
  return {
    add(text) {
      try {
        if (written >= segmentBytes) beginPiece();
        written += writeSync(file, text);
      } catch {
        // A disk without room costs the output, and not the process.
      }
    },
  };
}

/** The end of what is kept, at most so many characters, and whether that is all of it. */
export async function readOutput(
  folder: string,
  most: number,
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  const names = await readdir(folder).catch(() => []);
  const pieces = names
    .flatMap((name) => /^out\.(?<piece>\d+)$/.exec(name)?.groups?.["piece"] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
  const newest = pieces.slice(-3);
  // The first piece stands before a gap once there are four; what is read here is the end.
  const joined = newest.every((piece, n) => n === 0 || piece === (newest[n - 1] ?? 0) + 1)
    ? newest
    : newest.slice(1);
  const texts = await Promise.all(
    joined.map((piece) => readFile(join(folder, segmentName(piece)), "utf8").catch(() => "")),
  );
  const whole = texts.join("");
  const isWhole = joined[0] === 0 && whole.length <= most;
  return { text: whole.slice(-most).toWellFormed(), isWhole };
}
