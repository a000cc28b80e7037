import { answerRetentionMs, type RequestRow, type Requests } from "@holdfast/engine";

import type { ReferenceData } from "./data.ts";

export function createRequests(data: ReferenceData): Requests {
  const keyOf = ({ owner, key }: Pick<RequestRow, "owner" | "key">) => `${owner} ${key}`;
  const standing = (request: Pick<RequestRow, "owner" | "key">) => {
    const row = data.requests.get(keyOf(request));
    return row !== undefined && !isExpired(data, row) ? row : null;
  };
  return {
    find: async (owner, key) => standing({ owner, key }),
    async keep(request) {
      const first = standing(request);
      if (first !== null) return { status: "kept", row: first };
      const row = { ...request, at: data.clock() };
      if (request.session === null || data.sessions.has(request.session))
        data.requests.set(keyOf(request), row);
      return { status: "kept", row };
    },
  };
}

export function isExpired(data: ReferenceData, { at }: RequestRow): boolean {
  return at + answerRetentionMs <= data.clock();
}
