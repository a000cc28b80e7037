import { readFileSync, writeFileSync } from "node:fs";

import type { Mutant } from "./mutant.ts";
import type { FailedTest } from "./source-copy.ts";

export interface Verdict {
  readonly mutant: Mutant;
  readonly noticed: readonly FailedTest[];
  readonly ran: number;
}

const [begin, end] = ["<!-- faults -->", "<!-- /faults -->"];

/** Brings the table in a document up to date: what was not tried now keeps its row, what is not known any more loses it. */
export function record(file: string, verdicts: readonly Verdict[], known: readonly Mutant[]): void {
  const text = readFileSync(file, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${file} has no section ${begin} … ${end}`);
  const rows = new Map<string, string>();
  for (const row of text.slice(from, to).split("\n")) {
    const [line, fault] = row.replace(/^\| /, "").split(" | ");
    if (/^\| [PS]\d/.test(row)) rows.set(`${line} ${fault}`, row);
  }
  for (const verdict of verdicts) rows.set(keyOf(verdict.mutant), rowOf(verdict));
  const table = known.flatMap((mutant) => rows.get(keyOf(mutant)) ?? []);
  const head = ["| line | weakened | the test that failed |", "|---|---|---|"];
  const body = [...head, ...table].join("\n");
  writeFileSync(file, `${text.slice(0, from + begin.length)}\n\n${body}\n\n${text.slice(to)}`);
}

function keyOf({ line = "", fault }: Mutant): string {
  return `${line} ${fault}`;
}

function rowOf({ mutant: { line = "", fault }, noticed }: Verdict): string {
  const titles = new Set(noticed.map(({ title }) => title.replaceAll(/\[[SP][\d.]+\] /g, "")));
  return `| ${line} | ${fault} | ${[...titles].join("; ") || "**nobody**"} |`;
}
