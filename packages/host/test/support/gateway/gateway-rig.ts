import { systemClock } from "@holdfast/engine";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { ids } from "@holdfast/protocol";

import { type PlatformAdapter } from "../../../src/gateway/adapter.ts";
import { type Gateway, type GatewayDeps, openGateway } from "../../../src/gateway/gateway.ts";
import { createTelegramAdapter } from "../../../src/gateway/platforms/telegram/adapter.ts";
import type { ApiRig } from "../api-rig.ts";

export type GatewayRigOptions = Partial<GatewayDeps>;

/** Faster than any real platform allows, so that tests need not wait. */
export async function openFastTelegram(token: string, apiRoot: string): Promise<PlatformAdapter> {
  const adapter = await createTelegramAdapter({ token, apiRoot, pollSeconds: 5 });
  return { ...adapter, limits: { ...adapter.limits, paceMs: () => 20 } };
}

/** A bot over the rig's store that allows person 7. */
export function openGatewayOn(
  rig: ApiRig,
  openAdapter: () => Promise<PlatformAdapter>,
  rest: GatewayRigOptions = {},
): Gateway {
  return openGateway({
    log: rig.log,
    ids,
    clock: systemClock,
    runner: rig.runner,
    memory: { boundary: async () => {} },
    holder: () => aHolder(),
    liveness: { isDead: () => "unknown" },
    leaseMs: 30_000,
    owner: rig.owner,
    client: () => rig.client,
    openAdapter,
    platform: "telegram",
    allowedPeople: ["7"],
    pushWebhook: undefined,
    onError: (error) => void rig.bugs.push(new Error(String(error))),
    ...rest,
  });
}
