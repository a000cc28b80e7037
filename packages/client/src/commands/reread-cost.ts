import { formatDollars, formatNumber, type ModelView, type SessionId } from "@holdfast/protocol";
import type { Client } from "../client/create-client.ts";

/** What it costs when a model has nothing cached of a conversation. */
export interface RereadCost {
  /** What it reads from scratch with the next message. */
  readonly tokens: number;
  /** In dollars; `null` if the price is unknown. */
  readonly now: number | null;
  /** What the same costs from the cache. */
  readonly cached: number | null;
}

/** Below this, reading everything again costs next to nothing. */
const minTokens = 4_000;

/** `null` if it is not worth a word. */
export function rereadCost(
  tokens: number,
  { cachedBy, readBy }: Readonly<Record<"cachedBy" | "readBy", ModelView | undefined>>,
): RereadCost | null {
  if (tokens < minTokens || readBy === undefined) return null;
  const dollars = (rate: number | undefined): number | null =>
    rate === undefined ? null : (tokens * rate) / 1_000_000;
  const now = dollars(readBy.price?.input);
  if (now === 0) return null;
  return { tokens, now, cached: dollars(cachedBy?.price?.cacheRead) };
}

/**
 * What a change of the system prompt or of the model will cost this conversation. `to` is the model that it is to have,
 * by default the one that it has. `null` also if that cannot be found out now.
 */
export async function readRereadCost(
  { client, sessionId: id }: { readonly client: Client; readonly sessionId: SessionId },
  { to }: { readonly to?: string | null } = {},
): Promise<RereadCost | null> {
  const params = { id };
  const [context, read, listed] = await Promise.all([
    client.readContext({ params, query: { turns: 1 } }),
    client.readSession({ params, query: { limit: 1 } }),
    client.listModels(),
  ]);
  if (!context.ok || !read.ok || !listed.ok) return null;
  const { models, usual } = listed.value;
  const find = (name: string | null) => models.find((each) => each.name === (name ?? usual));
  const cachedBy = find(read.value.session.model);
  const readBy = to === undefined ? cachedBy : find(to);
  if (to !== undefined && readBy?.name === cachedBy?.name) return null;
  return rereadCost(context.value.tokens.total, { cachedBy, readBy });
}

/** One sentence for people. */
export function describeReread({ tokens, now, cached }: RereadCost): string {
  const again = `With the next message the model reads about ${formatNumber(tokens)} tokens from scratch`;
  const shown = (dollars: number): string => `about ${formatDollars(Math.round(dollars * 1e6))}`;
  if (now === null) return `${again}.`;
  return `${again}, for ${shown(now)}${cached === null ? "" : ` instead of ${shown(cached)}`}.`;
}
