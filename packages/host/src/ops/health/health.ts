import type { Clock, Failed, FailureCode, Store } from "@holdfast/engine";

import type { Health } from "../../server/http/app.ts";
import type { WriteWatch } from "./write-watch.ts";

const patienceMs = 1_000;
const freshMs = 1_000;

export interface HealthParts {
  readonly store: Pick<Store, "kind" | "work">;
  readonly writes: Pick<WriteWatch, "trouble">;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  readonly roles: readonly string[];
}

/** How the store stands: what keeps it from being read, and what from being written. */
interface Standing {
  readonly answers: boolean;
  readonly trouble: Failed | "late" | undefined;
}

/** Asks the store, but not for every stranger who asks us. */
export function watchHealth({
  store,
  writes,
  clock,
  stopping,
  roles,
}: HealthParts): () => Promise<Health> {
  let asked: { readonly at: number; readonly standing: Promise<Standing> } | undefined;

  async function look(): Promise<Standing> {
    const read = store.work.queued(1).then(
      () => true,
      () => false,
    );
    const [answers, trouble] = await Promise.all([
      within(clock, read, false),
      within(clock, writes.trouble(), "late" as const),
    ]);
    return { answers, trouble };
  }

  return async () => {
    if (asked === undefined || clock.now() - asked.at > freshMs)
      asked = { at: clock.now(), standing: look() };
    const { answers, trouble } = await asked.standing;
    const reasons = [
      ...(stopping.aborted ? ["The host is stopping."] : []),
      ...(answers ? [] : ["The store does not answer."]),
      ...(trouble === undefined ? [] : [whyNoWrites(trouble)]),
    ];
    const isReady = answers && trouble === undefined;
    return {
      status: stopping.aborted ? "stopping" : isReady ? "ok" : "degraded",
      ready: reasons.length === 0,
      reasons,
      roles,
      store: {
        kind: store.kind,
        ready: isReady,
        ...(trouble !== undefined && trouble !== "late" && { code: trouble.code }),
      },
    };
  };
}

/** For everybody's eyes, so without the store's own words: those may name files and servers, and stand in the log. */
const reasonsForNoWrites: Record<FailureCode, string> = {
  store_full:
    "The store's disk is full: make room. Reads go on, and nothing that was accepted is lost.",
  store_unwritable:
    "The store takes no writes: check its disk, the quota, the limit on file sizes and the permissions. Reads go on; the host's log says more.",
  store_busy: "Another process holds the store's lock for too long: end it, or wait for it.",
  store_unavailable: "The store takes no writes; the host's log says why.",
  store_unknown: "The store does not confirm what is written: check its disk or its connection.",
  store_closed: "The store was closed.",
};

function whyNoWrites(trouble: Failed | "late"): string {
  if (trouble === "late") return "The store does not take writes in time.";
  return reasonsForNoWrites[trouble.code];
}

async function within<T, L>(clock: Clock, answer: Promise<T>, late: L): Promise<T | L> {
  const answered = new AbortController();
  try {
    return await Promise.race([answer, clock.sleep(patienceMs, answered.signal).then(() => late)]);
  } finally {
    answered.abort();
  }
}
