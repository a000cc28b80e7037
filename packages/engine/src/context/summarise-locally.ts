import type { CountTokens, SummaryMaterial } from "../ports/background-models.ts";

const maxLineLength = 240;

/**
 * A summary without a model: what the person asked for, how each answer began, what tools did. Nothing is invented, and
 * the same material gives the same words. What does not fit is left out from the oldest on.
 */
export function summariseLocally(
  previous: string | null,
  material: readonly SummaryMaterial[],
  limitTokens: number,
  count: CountTokens,
): string {
  const before = previous === null ? [] : previous.split("\n");
  const lines = [...before, ...material.map(lineOf)].filter((line) => line !== "");
  let left = limitTokens;
  const kept: string[] = [];
  for (const line of lines.toReversed()) {
    left -= count(line) + 1;
    if (left < 0) break;
    kept.unshift(line);
  }
  const dropped = lines.length - kept.length;
  return (dropped === 0 ? kept : [`(${dropped} earlier lines are left out.)`, ...kept]).join("\n");
}

const speakers = { user: "The person", assistant: "The answer", tool: "A tool" } as const;

function lineOf({ role, text }: SummaryMaterial): string {
  const words = text.replaceAll(/\s+/g, " ").trim();
  if (words === "") return "";
  const isLong = words.length > maxLineLength;
  const short = isLong ? `${words.slice(0, maxLineLength).toWellFormed()}…` : words;
  return `${speakers[role]}: ${short}`;
}
