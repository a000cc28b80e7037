import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const tmpfs = 0x01021994;

/** Where the benchmark keeps its files. Set `TMPDIR` to measure another disk. */
export function scratchRoot(): string {
  const root = tmpdir();
  if (statfsSync(root).type === tmpfs) {
    throw new Error(
      `${root} is kept in memory, where a sync costs nothing. Set TMPDIR to a folder on a disk.`,
    );
  }
  return root;
}

const folders = new Set<string>();

/** A folder for one run; deleted when the process ends, except by kill -9. */
export function makeScratch(name: string): string {
  const folder = mkdtempSync(join(scratchRoot(), `holdfast-bench-${name}-`));
  folders.add(folder);
  return folder;
}

export function dropScratch(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

export function dropScratchAtExit(): void {
  process.on("exit", () => folders.forEach(dropScratch));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => process.exit(130));
  }
}
