import type { Clock, Failed, FailureCode, Store } from "@holdfast/engine";

import { withTimeout } from "@holdfast/protocol";
import type { Health } from "../../server/http/http-app.ts";
import type { LossReporter } from "./lost-events.ts";
import type { WriteHealth } from "./store-health.ts";

const probeTimeoutMs = 1_000;
const cacheMs = 1_000;

export interface HealthDeps {
  readonly store: Pick<Store, "kind" | "work">;
  readonly writes: Pick<WriteHealth, "failure">;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  readonly roles: readonly string[];
  readonly losses?: Pick<LossReporter, "summary">;
}

/** Why the store cannot be read or written, if so. */
interface StoreCondition {
  readonly answers: boolean;
  readonly writeFailure: Failed | "late" | undefined;
}

/** Caches the store's state, so that anonymous requests do not each query it. */
export function createHealthCheck({
  store,
  writes,
  clock,
  stopping,
  roles,
  losses,
}: HealthDeps): () => Promise<Health> {
  let cached: { readonly at: number; readonly condition: Promise<StoreCondition> } | undefined;

  async function checkStore(): Promise<StoreCondition> {
    const read = store.work.queued(1).then(
      () => true,
      () => false,
    );
    const [answers, writeFailure] = await Promise.all([
      withTimeout({ clock, ms: probeTimeoutMs }, () => read),
      withTimeout({ clock, ms: probeTimeoutMs }, () => writes.failure()),
    ]);
    return {
      answers: answers.status === "done" && answers.value,
      writeFailure: writeFailure.status === "done" ? writeFailure.value : "late",
    };
  }

  return async () => {
    if (cached === undefined || clock.now() - cached.at > cacheMs)
      cached = { at: clock.now(), condition: checkStore() };
    const { answers, writeFailure } = await cached.condition;
    const reasons = [
      ...(stopping.aborted ? ["The host is stopping."] : []),
      ...(answers ? [] : ["The store does not answer."]),
      ...(writeFailure === undefined ? [] : [writeFailureReason(writeFailure)]),
    ];
    const isReady = answers && writeFailure === undefined;
    const lost = losses?.summary();
    return {
      status: stopping.aborted ? "stopping" : isReady ? "ok" : "degraded",
      ready: reasons.length === 0,
      reasons,
      roles,
      store: {
        kind: store.kind,
        ready: isReady,
        ...(writeFailure !== undefined && writeFailure !== "late" && { code: writeFailure.code }),
        ...(lost !== undefined && { lost }),
      },
    };
  };
}

/** Public, so without the store's own messages: those may name files and servers, and are in the log. */
const writeFailureReasons: Record<FailureCode, string> = {
  store_full:
    "The store's disk is full: make room. Reads go on, and nothing that was accepted is lost.",
  store_unwritable:
    "The store takes no writes: check its disk, the quota, the limit on file sizes and the permissions. Reads go on; the host's log says more.",
  store_busy: "Another process holds the store's lock for too long: end it, or wait for it.",
  store_unavailable: "The store takes no writes; the host's log says why.",
  store_unknown: "The store does not confirm what is written: check its disk or its connection.",
  store_closed: "The store was closed.",
  blob_unreadable: "The bytes of a blob are lost or damaged; holdfast fsck lists it.",
};

function writeFailureReason(writeFailure: Failed | "late"): string {
  if (writeFailure === "late") return "The store does not take writes in time.";
  return writeFailureReasons[writeFailure.code];
}
