import { z } from "zod";

import type { Account } from "./accounts.ts";
import { type ConnectionLimits, openProviderConnection } from "./provider-connection.ts";

const listLimits: ConnectionLimits = { answerMs: 3_000, silenceMs: 3_000, bytes: 1024 * 1024 };
const cacheMs = 60_000;
const maxModels = 500;

const modelsAnswer = z.object({ data: z.array(z.object({ id: z.string().min(1).max(180) })) });

/** What a server says that it serves; asked once a minute at most. One that does not answer serves nothing. */
export function createServerModels(
  now: () => number = Date.now,
): (account: Account) => Promise<readonly string[]> {
  const known = new Map<string, { readonly until: number; readonly ids: Promise<string[]> }>();
  return (account) => {
    const { baseUrl } = account;
    const kept = known.get(baseUrl);
    if (kept !== undefined && kept.until > now()) return kept.ids;
    const ids = fetchModelNames(account);
    known.set(baseUrl, { until: now() + cacheMs, ids });
    return ids;
  };
}

async function fetchModelNames({ baseUrl, key }: Account): Promise<string[]> {
  const connection = openProviderConnection(listLimits);
  try {
    const headers = key === null ? {} : { authorization: `Bearer ${key}` };
    const response = await connection.fetch(`${baseUrl}/models`, { headers });
    if (!response.ok) return [];
    const { data } = modelsAnswer.parse(await response.json());
    return data.slice(0, maxModels).map(({ id }) => id);
  } catch {
    return [];
  } finally {
    connection.close();
  }
}
