import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Sections of the public surface. Each is a sorted list of one-line facts. */
export type Surface = Readonly<Record<string, readonly string[]>>;

export interface Difference {
  readonly gone: readonly string[];
  readonly added: readonly string[];
}

export const surfaceFile = fileURLToPath(new URL("public-surface.json", import.meta.url));

/** Set by the update command: tests write their sections into this folder instead of comparing them. */
export const recordVariable = "HOLDFAST_TEST_SURFACE";

const updateCommand = "npm run surface";

export function readSurface(): Surface {
  return JSON.parse(readFileSync(surfaceFile, "utf8")) as Surface;
}

/** Fails if a section differs from the snapshot, and names every line that does. */
export function expectSurface(section: string, seen: Iterable<string>): void {
  const facts = [...new Set(seen)].toSorted();
  if (facts.length === 0) throw new Error(`Nothing was observed for "${section}".`);
  const folder = process.env[recordVariable];
  if (folder !== undefined)
    return writeFileSync(join(folder, `${section}.json`), JSON.stringify(facts));
  const difference = compareFacts(readSurface()[section], facts);
  if (difference.gone.length + difference.added.length > 0)
    throw new Error(describeDifference(section, difference));
}

export function compareFacts(
  kept: readonly string[] = [],
  seen: readonly string[] = [],
): Difference {
  const [before, now] = [new Set(kept), new Set(seen)];
  return {
    gone: kept.filter((fact) => !now.has(fact)),
    added: seen.filter((fact) => !before.has(fact)),
  };
}

export function describeDifference(section: string, { gone, added }: Difference): string {
  const list = (title: string, sign: string, facts: readonly string[]): string[] =>
    facts.length === 0 ? [] : [title, ...facts.map((fact) => `  ${sign} ${fact}`)];
  return [
    `The public surface differs in "${section}".`,
    ...list("Gone or changed, although others depend on it:", "-", gone),
    ...list("New, and not in the snapshot yet:", "+", added),
    gone.length > 0
      ? `Bring back what is gone. If it has to go: ${updateCommand} -- --allow-removal`
      : `Add what is new to the snapshot: ${updateCommand}`,
  ].join("\n");
}

export interface UpdatePlan {
  /** The report for the terminal. */
  readonly lines: readonly string[];
  readonly outcome: "refused" | Surface;
}

/** The snapshot may always grow. It shrinks only if removal is allowed. */
export function planUpdate(
  kept: Surface,
  seen: Surface,
  removal: "refused" | "allowed",
): UpdatePlan {
  const sections = Object.keys({ ...kept, ...seen }).toSorted();
  const differences = sections.map((section) => ({
    section,
    ...compareFacts(kept[section], seen[section]),
  }));
  const lines = differences
    .filter(({ gone, added }) => gone.length + added.length > 0)
    .flatMap(({ section, gone, added }) => [
      `${section}: ${gone.length} gone, ${added.length} new`,
      ...gone.map((fact) => `  - ${fact}`),
    ]);
  const isRefused = removal === "refused" && differences.some(({ gone }) => gone.length > 0);
  if (isRefused)
    return {
      lines: [...lines, "Nothing was written: --allow-removal lets go of what is gone."],
      outcome: "refused",
    };
  const outcome = Object.fromEntries(Object.entries(seen).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return { lines: lines.length === 0 ? ["Nothing has changed."] : lines, outcome };
}
