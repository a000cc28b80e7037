import type { Clock, Store } from "@holdfast/engine";

import type { Health } from "./http/index.ts";

const patienceMs = 1_000;
const freshMs = 1_000;

/** Asks the store, but not for every stranger who asks us. */
export function watchHealth(
  store: Store,
  clock: Clock,
  stopping: AbortSignal,
  roles: readonly string[],
): () => Promise<Health> {
  let asked: { readonly at: number; readonly ready: Promise<boolean> } | undefined;
  return async () => {
    if (asked === undefined || clock.now() - asked.at > freshMs)
      asked = { at: clock.now(), ready: answersInTime(store, clock) };
    const answers = await asked.ready;
    const reasons = [
      ...(stopping.aborted ? ["The host is stopping."] : []),
      ...(answers ? [] : ["The store does not answer."]),
    ];
    return {
      status: stopping.aborted ? "stopping" : answers ? "ok" : "degraded",
      ready: reasons.length === 0,
      reasons,
      roles,
      store: { kind: store.kind, ready: answers },
    };
  };
}

async function answersInTime(store: Store, clock: Clock): Promise<boolean> {
  const answered = new AbortController();
  const late = clock.sleep(patienceMs, answered.signal).then(() => false);
  const answer = store.work.queued(1).then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([answer, late]);
  } finally {
    answered.abort();
  }
}
