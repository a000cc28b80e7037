import type { ModelView } from "@holdfast/protocol";

export interface SwitchCost {
  /** What the new model reads, which the old one had cached. */
  readonly tokens: number;
  /** In dollars, for the next message; `null` if the price is unknown. */
  readonly now: number | null;
  readonly cached: number | null;
}

/** Below this, a switch costs next to nothing. */
const minTokens = 4_000;

/** What a switch costs in lost cache, or `null` if it is not worth a question. */
export function switchCost(
  tokens: number,
  from: ModelView | undefined,
  to: ModelView | undefined,
): SwitchCost | null {
  if (tokens < minTokens || to === undefined || from?.name === to.name) return null;
  const dollars = (rate: number | undefined): number | null =>
    rate === undefined ? null : (tokens * rate) / 1_000_000;
  const now = dollars(to.price?.input);
  if (now === 0) return null;
  return { tokens, now, cached: dollars(from?.price?.cacheRead) };
}
