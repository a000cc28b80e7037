import type { Store } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import type { RunnerMessage } from "./protocol.ts";

/** The store, with a word about each fence that was given and each commit under one. */
export function recordingStore(
  store: Store,
  owner: OwnerId,
  say: (saying: RunnerMessage) => void,
): Store {
  const leases = instead(store.leases, {
    async acquire(request) {
      const result = await store.leases.acquire(request);
      if (result.status !== "acquired") return result;
      const { session, fence } = result.lease;
      // Read behind the lease: whoever holds an older fence writes nothing above this number.
      const row = await store.reads.session(owner, session).catch(() => null);
      if (row !== null) say({ word: "leased", session, fence, head: row.head });
      return result;
    },
  });
  return instead(store, {
    leases,
    async commit(commit) {
      const result = await store.commit(commit);
      const { session, under } = commit;
      if (under === undefined) return result;
      const { fence } = under;
      if (result.status === "committed")
        say({ word: "committed", session, fence, first: result.first, last: result.last });
      else if (result.status === "refused" && result.code === "fenced")
        say({ word: "fenced", session, fence });
      return result;
    },
  });
}

/** The same object but for a few of its parts. Methods keep the object that they belong to. */
function instead<T extends object>(whole: T, parts: Partial<T>): T {
  return new Proxy(whole, {
    get(target, key) {
      if (key in parts) return Reflect.get(parts, key) as unknown;
      const part: unknown = Reflect.get(target, key);
      return typeof part === "function" ? (part.bind(target) as unknown) : part;
    },
  });
}
