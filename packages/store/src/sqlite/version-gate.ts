/** Older versions, and 3.52.0, can lose committed frames when the write-ahead log is reset. */
const oldest = [3, 51, 3] as const;
const broken = new Set(["3.52.0"]);

/** Why this SQLite must not be used, if it must not. */
export function whyRefused(version: string): string | undefined {
  const parts = version.split(".").map(Number);
  const older = compare(parts, oldest) < 0;
  if (!older && !broken.has(version)) return undefined;
  return `SQLite ${version} can lose committed data (the WAL-reset bug). Holdfast needs 3.51.3 or newer, and not 3.52.0: update Node.js.`;
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < b.length; index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
