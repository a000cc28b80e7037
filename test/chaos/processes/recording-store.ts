import type { Store } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import type { RunnerMessage } from "./protocol.ts";

/** A store that reports each issued fence and each commit under one. */
export function recordingStore(
  store: Store,
  owner: OwnerId,
  report: (message: RunnerMessage) => void,
): Store {
  const leases = withMembers(store.leases, {
    async acquire(request) {
      const result = await store.leases.acquire(request);
      if (result.status !== "acquired") return result;
      const { session, fence } = result.lease;
      // Read after the lease: the holder of an older fence writes nothing above this seq.
      const row = await store.reads.session(owner, session).catch(() => null);
      if (row !== null) report({ word: "leased", session, fence, head: row.head });
      return result;
    },
  });
  return withMembers(store, {
    leases,
    async commit(commit) {
      const result = await store.commit(commit);
      const { session, under } = commit;
      if (under === undefined) return result;
      const { fence } = under;
      if (result.status === "committed")
        report({ word: "committed", session, fence, first: result.first, last: result.last });
      else if (result.status === "refused" && result.code === "fenced")
        report({ word: "fenced", session, fence });
      return result;
    },
  });
}

/** The same object except for some members. Methods keep their `this`. */
function withMembers<T extends object>(whole: T, parts: Partial<T>): T {
  return new Proxy(whole, {
    get(target, key) {
      if (key in parts) return Reflect.get(parts, key) as unknown;
      const part: unknown = Reflect.get(target, key);
      return typeof part === "function" ? (part.bind(target) as unknown) : part;
    },
  });
}
