import type { OwnerId } from "@holdfast/protocol";

import { viewSession } from "../log/index.ts";
import type { ListQuery, SessionPage, Store } from "../ports/index.ts";
import { same } from "./open-session.ts";

/** A page of the list, which has to be the same one in rows and as it is written for clients. */
export async function readPage(
  { reads }: Pick<Store, "reads">,
  owner: OwnerId,
  query: ListQuery,
): Promise<SessionPage> {
  const page = await reads.sessions(owner, query);
  const { json, next } = await reads.listed(owner, query);
  same(JSON.parse(new TextDecoder().decode(json)), page.sessions.map(viewSession));
  same(next, page.next);
  return page;
}
