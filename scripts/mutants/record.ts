import { readFileSync, writeFileSync } from "node:fs";

import type { Mutant } from "./mutant.ts";
import type { FailedTest } from "./source-copy.ts";

export interface Verdict {
  readonly mutant: Mutant;
  readonly noticed: readonly FailedTest[];
  readonly ran: number;
}

const [begin, end] = ["<!-- faults -->", "<!-- /faults -->"];
const maxLineBytes = 118;

/**
 * Brings the list in a document up to date: what was not tried now keeps its item, what is not known any more loses it.
 */
export function record(file: string, verdicts: readonly Verdict[], known: readonly Mutant[]): void {
  const text = readFileSync(file, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${file} has no section ${begin} … ${end}`);
  const items = readItems(text.slice(from + begin.length, to));
  for (const verdict of verdicts) items.set(keyOf(verdict.mutant), itemOf(verdict));
  const body = known.flatMap((mutant) => items.get(keyOf(mutant)) ?? []).join("\n");
  writeFileSync(file, `${text.slice(0, from + begin.length)}\n\n${body}\n\n${text.slice(to)}`);
}

/** An item is its fault, and indented below it the tests that noticed. Each may be wrapped. */
function readItems(section: string): Map<string, string> {
  const items = section
    .trim()
    .split(/^(?=- )/m)
    .filter((item) => item.startsWith("- "));
  return new Map(
    items.map((item) => {
      const [fault = ""] = item.split(/^ {2}- /m);
      return [unwrap(fault.slice(2)), item.trimEnd()];
    }),
  );
}

function keyOf({ line = "", fault }: Mutant): string {
  return unwrap(`**${line}** ${fault}`);
}

function itemOf({ mutant, noticed }: Verdict): string {
  const titles = new Set(noticed.map(({ title }) => title.replaceAll(/\[[SP][\d.]+\] /g, "")));
  const tests = titles.size === 0 ? ["**nobody**"] : [...titles];
  return [wrap(keyOf(mutant), "- "), ...tests.map((title) => wrap(title, "  - "))].join("\n");
}

function unwrap(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

function wrap(text: string, marker: string): string {
  const lines: string[] = [];
  let line = marker;
  for (const word of unwrap(text).split(" ")) {
    const longer = line.endsWith(" ") ? line + word : `${line} ${word}`;
    if (Buffer.byteLength(longer) <= maxLineBytes) line = longer;
    else {
      lines.push(line);
      line = " ".repeat(marker.length) + word;
    }
  }
  return [...lines, line].join("\n");
}
