import type {
  CountTokens,
  Summariser,
  SummaryMaterial,
  SummaryRequest,
} from "../ports/background-models.ts";
import type { CompactionTarget } from "./compact.ts";
import type { CompactionPlan } from "./plan-compaction.ts";

/** The most tokens a summariser gets at once, and the most characters of a single message. */
const maxPieceTokens = 24_000;
const maxTextLength = 16_000;
/** There is no model to wait for. */
const noModelCode = "no_model";

/**
 * Writes the summary of a plan piece by piece, each piece updating the previous summary. Secrets go neither in nor out.
 * If the summariser fails or returns nothing, the local summary is used. At rest nobody waits, so that a model that
 * fails gets none instead: `null`.
 */
export async function writeSummary(
  { summariser, count }: { readonly summariser: Summariser; readonly count: CountTokens },
  target: Pick<SummaryRequest, "owner" | "session" | "focus"> &
    Pick<CompactionTarget, "sizes" | "mayCallModel" | "reason">,
  plan: CompactionPlan,
  signal: AbortSignal,
): Promise<string | null> {
  const { owner, session, focus, sizes } = target;
  const limitTokens = sizes.summaryTokens;
  let summary = plan.previous;
  for (const material of splitMaterial(plan.material, count)) {
    if (signal.aborted) break;
    const request = { owner, session, previous: summary, material, focus, limitTokens };
    const mayCall = (await target.mayCallModel?.()) ?? true;
    const answer = mayCall ? await summariser.summarise(request, signal) : null;
    if (answer?.status === "failed" && answer.code !== noModelCode && isMadeAtRest(target))
      return null;
    const text = answer?.status === "summarised" ? redactSecrets(answer.text).trim() : "";
    // An overlong summary does not count as one.
    summary =
      text !== "" && count(text) <= limitTokens * 2
        ? text
        : summariseLocally(summary, material, limitTokens, count);
  }
  return summary ?? "";
}

/** Nobody waits for it. */
export function isMadeAtRest({ reason }: Pick<CompactionTarget, "reason">): boolean {
  return reason === "idle" || reason === "hygiene";
}

function splitMaterial(
  material: readonly SummaryMaterial[],
  count: CountTokens,
): readonly (readonly SummaryMaterial[])[] {
  const pieces: SummaryMaterial[][] = [];
  let room = 0;
  for (const { role, text } of material) {
    // Redact first: truncating could cut a secret in half and leave the rest unrecognised.
    const redacted = { role, text: truncateMiddle(redactSecrets(text)) };
    const tokens = count(redacted.text);
    if (tokens > room || pieces.length === 0) {
      pieces.push([]);
      room = maxPieceTokens;
    }
    pieces.at(-1)?.push(redacted);
    room -= tokens;
  }
  return pieces;
}

/** The beginning and end of a text that is too long. */
function truncateMiddle(text: string): string {
  if (text.length <= maxTextLength) return text;
  const half = maxTextLength / 2;
  return `${text.slice(0, half)}\n[…]\n${text.slice(-half)}`.toWellFormed();
}

const maxLineLength = 240;

/**
 * A summary without a model: what the person asked for, how each answer started, what tools did. Nothing is invented,
 * and the same material gives the same text. What does not fit is dropped, oldest first.
 */
export function summariseLocally(
  previous: string | null,
  material: readonly SummaryMaterial[],
  limitTokens: number,
  count: CountTokens,
): string {
  const previousLines = previous === null ? [] : previous.split("\n");
  const lines = [...previousLines, ...material.map(lineOf)].filter((line) => line !== "");
  let remainingTokens = limitTokens;
  const keptLines: string[] = [];
  for (const line of lines.toReversed()) {
    remainingTokens -= count(line) + 1;
    if (remainingTokens < 0) break;
    keptLines.unshift(line);
  }
  const dropped = lines.length - keptLines.length;
  return (
    dropped === 0 ? keptLines : [`(${dropped} earlier lines are left out.)`, ...keptLines]
  ).join("\n");
}

const speakers = { user: "The person", assistant: "The answer", tool: "A tool" } as const;

function lineOf({ role, text }: SummaryMaterial): string {
  const singleLine = text.replaceAll(/\s+/g, " ").trim();
  if (singleLine === "") return "";
  const isLong = singleLine.length > maxLineLength;
  const short = isLong ? `${singleLine.slice(0, maxLineLength).toWellFormed()}…` : singleLine;
  return `${speakers[role]}: ${short}`;
}

/**
 * What secrets look like. A summary outlives its source and may go to another provider's model. Every open-ended
 * pattern starts at a word boundary, so that a model cannot craft text that makes the search slow.
 */
const secretPatterns: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
    "[private key]",
  ],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}\b/g, "[token]"],
  [
    /(?<![\w-])(?:sk|pk|rk|gh[opsur]|github_pat|glpat|xox[abeprs]|hf|npm)[-_][\w-]{16,}\b/g,
    "[key]",
  ],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, "[key]"],
  [/\bAIza[\w-]{30,}\b/g, "[key]"],
  [/\b(Bearer|Basic)\s+[\w+/=.~-]{12,}/gi, "$1 [token]"],
  [/(:\/\/[^\s:/@]*:)[^\s/]+@/g, "$1[password]@"],
  [
    /(?<![\w-])([\w-]*(?:(?:api|access|private|account)[-_ ]?key|secret|token(?!s)|passw(?:or)?d|passphrase)(?:[-_][\w-]{0,40}|key)?["']?\s*[:=]\s*)("[^"\n]{4,}"|'[^'\n]{4,}'|[^\s"',;]{4,})/gi,
    "$1[redacted]",
  ],
];

export function redactSecrets(text: string): string {
  return secretPatterns.reduce((redacted, [form, name]) => redacted.replaceAll(form, name), text);
}
