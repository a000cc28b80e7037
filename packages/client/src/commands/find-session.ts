import type { ApiError } from "../client/call-route.ts";
import type { Client } from "../client/create-client.ts";
import { type SessionView, sessionId, type SessionId } from "@holdfast/protocol";

/** The end of an id, which tells sessions apart where their beginnings, being times, look alike. */
export function shortId(id: SessionId): string {
  return id.slice(-6);
}

export type FoundSessions =
  | { readonly ok: true; readonly sessions: readonly SessionView[] }
  | { readonly ok: false; readonly error: ApiError };

const pageSize = 200;
const maxPages = 10;
const minIdSuffix = 4;

/**
 * The sessions that a person may mean: by a whole id, by the end of one, by a title, or by words of a title. What fits
 * better leaves out what fits less.
 */
export async function findSessions(
  client: Client,
  asked: string,
  shelf: "active" | "archived" | "trash" = "active",
): Promise<FoundSessions> {
  const whole = sessionId.safeParse(asked);
  if (whole.success) {
    const read = await client.readSession({ params: { id: whole.data }, query: { limit: 1 } });
    return read.ok ? { ok: true, sessions: [read.value.session] } : read;
  }
  const wanted = asked.toLowerCase();
  const fits: SessionView[][] = [[], [], []];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const query = {
      limit: pageSize,
      ...(shelf === "archived" && { archived: true }),
      ...(shelf === "trash" && { trashed: true }),
      ...(cursor !== undefined && { cursor }),
    };
    const listed = await client.listSessions({ query });
    if (!listed.ok) return listed;
    for (const session of listed.value.sessions) fits[matchRank(session, wanted)]?.push(session);
    if (listed.value.nextCursor === null) break;
    cursor = listed.value.nextCursor;
  }
  return { ok: true, sessions: fits.find((each) => each.length > 0) ?? [] };
}

/** 0 fits best; 3 does not fit. */
function matchRank({ id, title }: SessionView, wanted: string): number {
  if (wanted.length >= minIdSuffix && id.endsWith(wanted)) return 0;
  const name = title?.toLowerCase() ?? "";
  if (name === wanted) return 1;
  return name.includes(wanted) ? 2 : 3;
}
