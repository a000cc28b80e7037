/** Older versions, and 3.52.0, can lose committed frames when the write-ahead log is reset. */
const oldestSafeVersion = [3, 51, 3] as const;
const brokenVersions = new Set(["3.52.0"]);

/** Why this SQLite must not be used, if it must not. */
export function whySqliteVersionRefused(version: string): string | undefined {
  const parts = version.split(".").map(Number);
  const older = compareVersions(parts, oldestSafeVersion) < 0;
  if (!older && !brokenVersions.has(version)) return undefined;
  return `SQLite ${version} can lose committed data (the WAL-reset bug). Holdfast needs 3.51.3 or newer, and not 3.52.0: update Node.js.`;
}

function compareVersions(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < b.length; index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
