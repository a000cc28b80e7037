import { z } from "zod";

import type { Account } from "./accounts.ts";
import { type ConnectionLimits, openConnection } from "./provider-connection.ts";

const limits: ConnectionLimits = { answerMs: 3_000, silenceMs: 3_000, bytes: 1024 * 1024 };
const keptMs = 60_000;
const mostModels = 500;

const answer = z.object({ data: z.array(z.object({ id: z.string().min(1).max(180) })) });

/** What a server says that it serves; asked once a minute at most. One that does not answer serves nothing. */
export function createServerModels(
  now: () => number = Date.now,
): (account: Account) => Promise<readonly string[]> {
  const known = new Map<string, { readonly until: number; readonly ids: Promise<string[]> }>();
  return (account) => {
    const { baseUrl } = account;
    const kept = known.get(baseUrl);
    if (kept !== undefined && kept.until > now()) return kept.ids;
    const ids = askFor(account);
    known.set(baseUrl, { until: now() + keptMs, ids });
    return ids;
  };
}

async function askFor({ baseUrl, key }: Account): Promise<string[]> {
  const connection = openConnection(limits);
  try {
    const headers = key === null ? {} : { authorization: `Bearer ${key}` };
    const response = await connection.fetch(`${baseUrl}/models`, { headers });
    if (!response.ok) return [];
    const { data } = answer.parse(await response.json());
    return data.slice(0, mostModels).map(({ id }) => id);
  } catch {
    return [];
  } finally {
    connection.close();
  }
}
