import type {
  CountTokens,
  Summariser,
  SummaryMaterial,
  SummaryRequest,
} from "../ports/background-models.ts";
import type { CompactionPlan, CompactionSizes } from "./plan-compaction.ts";
import { redactSecrets } from "./redact.ts";
import { summariseLocally } from "./summarise-locally.ts";

/** How much of a conversation a summariser gets at once, in tokens, and the most that a single message may bring. */
const maxPieceTokens = 24_000;
const maxTextLength = 16_000;

/**
 * Writes the summary of a plan, piece by piece, each one an update of the one before. Secrets go neither in nor out. When
 * nobody answers, or not with words, the local summary does.
 */
export async function writeSummary(
  { summariser, count }: { readonly summariser: Summariser; readonly count: CountTokens },
  target: Pick<SummaryRequest, "owner" | "session" | "focus"> & { readonly sizes: CompactionSizes },
  plan: CompactionPlan,
  signal: AbortSignal,
): Promise<string> {
  const { owner, session, focus, sizes } = target;
  const limitTokens = sizes.summaryTokens;
  let summary = plan.previous;
  for (const material of splitMaterial(plan.material, count)) {
    if (signal.aborted) break;
    const request = { owner, session, previous: summary, material, focus, limitTokens };
    const answer = await summariser.summarise(request, signal);
    const text = answer.status === "summarised" ? redactSecrets(answer.text).trim() : "";
    // One that is longer than it may be is no summary.
    summary =
      text !== "" && count(text) <= limitTokens * 2
        ? text
        : summariseLocally(summary, material, limitTokens, count);
  }
  return summary ?? "";
}

function splitMaterial(
  material: readonly SummaryMaterial[],
  count: CountTokens,
): readonly (readonly SummaryMaterial[])[] {
  const pieces: SummaryMaterial[][] = [];
  let room = 0;
  for (const { role, text } of material) {
    // Redacted first: a secret across the cut would leave half of itself behind.
    const shown = { role, text: truncateMiddle(redactSecrets(text)) };
    const tokens = count(shown.text);
    if (tokens > room || pieces.length === 0) {
      pieces.push([]);
      room = maxPieceTokens;
    }
    pieces.at(-1)?.push(shown);
    room -= tokens;
  }
  return pieces;
}

/** The beginning and the end of what is too long. */
function truncateMiddle(text: string): string {
  if (text.length <= maxTextLength) return text;
  const half = maxTextLength / 2;
  return `${text.slice(0, half)}\n[…]\n${text.slice(-half)}`.toWellFormed();
}
