import { readFileSync, writeFileSync } from "node:fs";

export interface ChaosResult {
  /** The command that repeats this run, as far as chance and timing allow. */
  readonly command: string;
  readonly figures: Readonly<Record<string, string | number>>;
  /** What was broken; ideally nothing. */
  readonly problems: readonly string[];
}

/** Puts the figures of a run between the markers of its section. */
export function updateReport(file: string, section: string, result: ChaosResult): void {
  const text = readFileSync(file, "utf8");
  const [begin, end] = [`<!-- ${section} -->`, `<!-- /${section} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${file} has no section ${begin} … ${end}`);
  const rows = Object.entries(result.figures).map(([name, figure]) => `| ${name} | ${figure} |`);
  const problems = result.problems.map((problem) => `- ${problem}`);
  const body = [`\`${result.command}\``, "", "| | |", "|---|---|", ...rows, "", ...problems];
  writeFileSync(
    file,
    `${text.slice(0, from + begin.length)}\n\n${body.join("\n").trimEnd()}\n\n${text.slice(to)}`,
  );
}
