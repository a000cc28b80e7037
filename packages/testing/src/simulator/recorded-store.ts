import type { Seq } from "@holdfast/protocol";

import type { Store } from "@holdfast/engine";
import type { SimRecord } from "./record.ts";

/** Writes down what the store was asked and answered. It stands directly on the store, beneath all faults. */
export function recordedStore(
  inner: Store,
  { record, host, step }: { record: SimRecord; host: string; step: () => number },
): Store {
  return {
    ...inner,
    async commit(commit) {
      const result = await inner.commit(commit);
      if (result.status !== "committed" || result.repeated !== undefined) return result;
      const { session, events, under, touch } = commit;
      record.addCommit({
        step: step(),
        host,
        session,
        fence: under?.fence ?? null,
        events: events.map((event, index) => ({
          ...event,
          seq: (result.first + index) as Seq,
          at: result.at,
          ...(touch === "quiet" && { quiet: true as const }),
        })),
      });
      return result;
    },
    leases: {
      ...inner.leases,
      async acquire(request) {
        const result = await inner.leases.acquire(request);
        if (result.status === "acquired" && request.kind === "run") {
          const { session, fence } = result.lease;
          record.leases.push({ step: step(), host, session, fence });
        }
        return result;
      },
    },
  };
}
