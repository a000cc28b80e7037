import { closeSync, openSync } from "node:fs";

/**
 * A new file is its owner's alone, wherever it lies; what SQLite puts beside it takes its mode over. One that is there is
 * left alone: closing another handle to it would give up the locks that this process holds.
 */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch {
    // It is there, or it cannot be made; the writer says which.
  }
}
