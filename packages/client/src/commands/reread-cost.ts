import {
  formatDollars,
  formatNumber,
  type ModelView,
  plural,
  type SessionId,
  type SessionView,
} from "@holdfast/protocol";
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

/** What a change costs that reaches conversations that have begun, such as one of the tools. */
export interface SharedRereadCost {
  /** How many conversations of the last day begin anew. */
  readonly conversations: number;
  /** The newest of them, which were counted. */
  readonly counted: number;
  /** What the counted ones send from scratch with their next messages. */
  readonly tokens: number;
  /** In dollars; `null` if a price is unknown. */
  readonly now: number | null;
}

const recentMs = 24 * 60 * 60 * 1000;
/** The length of the list that is looked at. */
const maxListed = 100;
/** The host counts the tokens of each. */
const maxCounted = 10;

/**
 * What a change costs that reaches all conversations, or those of a project. Only those used within a day are looked at:
 * of older ones no provider has anything cached. `null` if it is not worth a word, or cannot be found out now.
 */
export async function readSharedRereadCost(
  { client, now }: { readonly client: Client; readonly now: () => number },
  { project }: { readonly project?: string } = {},
): Promise<SharedRereadCost | null> {
  const query = { limit: maxListed, ...(project !== undefined && { project }) };
  const [found, listed] = await Promise.all([client.listSessions({ query }), client.listModels()]);
  if (!found.ok || !listed.ok) return null;
  const since = now() - recentMs;
  const recent = found.value.sessions.filter(
    ({ activityAt, messageCount }) => messageCount > 0 && activityAt >= since,
  );
  const counted = await Promise.all(
    recent.slice(0, maxCounted).map((session) => countReread(client, session, listed.value)),
  );
  return sumRereads(recent.length, counted);
}

/** What one conversation sends from scratch, and the price of it. */
interface CountedReread {
  readonly tokens: number;
  readonly now: number | null;
}

async function countReread(
  client: Client,
  { id, model }: Pick<SessionView, "id" | "model">,
  { models, usual }: { readonly models: readonly ModelView[]; readonly usual: string },
): Promise<CountedReread> {
  const context = await client.readContext({ params: { id }, query: { turns: 1 } });
  const tokens = context.ok ? context.value.tokens.total : 0;
  const price = models.find(({ name }) => name === (model ?? usual))?.price;
  return { tokens, now: price == null ? null : (tokens * price.input) / 1_000_000 };
}

/** `null` if it is not worth a word. */
export function sumRereads(
  conversations: number,
  counted: readonly CountedReread[],
): SharedRereadCost | null {
  let tokens = 0;
  let now: number | null = 0;
  for (const each of counted) {
    tokens += each.tokens;
    now = now === null || each.now === null ? null : now + each.now;
  }
  if (tokens < minTokens || now === 0) return null;
  return { conversations, counted: counted.length, tokens, now };
}

/** One sentence for people. */
export function describeSharedReread(cost: SharedRereadCost): string {
  const { conversations, counted, tokens, now } = cost;
  const price = now === null ? "" : `, for about ${formatDollars(Math.round(now * 1e6))}`;
  const sent = `about ${formatNumber(tokens)} tokens from scratch${price}`;
  const sentBy = plural(conversations, { one: "# conversation", other: "# conversations" });
  if (counted === conversations)
    return `With ${conversations === 1 ? "its" : "their"} next message, ${sentBy} of the last 24 hours will send ${sent}.`;
  return `This reaches ${sentBy} of the last 24 hours. With their next message, the newest ${counted} alone will send ${sent}.`;
}
