import type { Route } from "../http/route.ts";
import { mountCall } from "./contract.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problem } from "./reply.ts";
import { viewHit } from "./views.ts";

const defaultHitLimit = 20;

export function searchRoutes(parts: ApiDeps): Route[] {
  const { search } = parts.log.store;
  return [
    mountCall(parts, "search", async ({ owner, query: { q, limit = defaultHitLimit, cursor } }) => {
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
