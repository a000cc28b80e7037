import { type Store, systemClock } from "@holdfast/engine";
import { ownerId } from "@holdfast/protocol";
import { createLiveness, currentHolder } from "@holdfast/store/identity";

import type { Config } from "../../ops/config/settings.ts";
import { createEgress } from "../../util/egress/egress.ts";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import type { Notifier } from "./notifier.ts";
import type { Redact } from "../../ops/secrets/redact.ts";
import type { Logger } from "../../ops/telemetry/logger.ts";

/** A receiver that cannot verify who posts would believe anybody. */
export function checkNotifyConfig({ notifyUrl, notifySecret }: Config): Outcome<undefined> {
  if (notifyUrl.value === undefined || notifySecret.value !== undefined) return done(undefined);
  return failed(
    "config.invalid",
    "A webhook that is told without a signature would believe anybody: set HOLDFAST_NOTIFY_SECRET to 16 or more characters.",
  );
}

/** Opens the notifier if a webhook is configured; otherwise its code is not even loaded. */
export async function openConfiguredNotifier(
  { notifyUrl: { value: url }, notifySecret: { value: secret }, notifyDetails }: Config,
  store: Store,
  redact: Redact,
  logger: Logger,
): Promise<Notifier | undefined> {
  if (url === undefined || secret === undefined) return undefined;
  const { createNotifier } = await import("./notifier.ts");
  const { hostname, port, protocol } = new URL(url);
  return createNotifier({
    store,
    owner: ownerId.parse("owner"),
    clock: systemClock,
    holder: currentHolder("notify"),
    liveness: createLiveness(),
    // The operator named this very host and port, so it may be on a private network.
    egress: createEgress({ allow: [`${hostname}:${port || (protocol === "https:" ? 443 : 80)}`] }),
    url,
    secret,
    details: notifyDetails.value,
    redact,
    logLine: (level, line) => logger[level](line),
    report: (bug) => logger.report(bug instanceof Error ? bug : new Error(String(bug))),
  });
}
