import type { Route } from "../http/route.ts";
import { mountCall } from "./contract.ts";
import type { ApiParts } from "./deps.ts";
import { answer, problem } from "./reply.ts";
import { viewHit } from "./views.ts";

const defaultLimit = 20;

export function searchRoutes(parts: ApiParts): Route[] {
  const { search } = parts.log.store;
  return [
    mountCall(parts, "search", async ({ owner, query: { q, limit = defaultLimit, cursor } }) => {
      const found = await search.search(owner, { text: q, limit, ...(cursor && { cursor }) });
      if (found.status === "unavailable")
        return problem("store_unavailable", { detail: found.message });
      return answer({
        hits: found.hits.map(viewHit),
        nextCursor: found.next,
        ...(found.indexing && { indexing: true }),
      });
    }),
  ];
}
