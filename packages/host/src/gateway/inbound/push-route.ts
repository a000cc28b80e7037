import { timingSafeEqual } from "node:crypto";

import { StoreFailure } from "@holdfast/engine";

import type { Route } from "../../server/http/route.ts";
import type { PlatformAdapter } from "../adapter.ts";
import type { UpdateHandler } from "./handle-update.ts";
import { RetryLater } from "./admit-message.ts";

export interface PushWebhook {
  /** Where the platform reaches us, without the path. */
  readonly url: string;
  /** Shown by the platform with everything that it pushes. There is no hook without one. */
  readonly secret: string;
}

export const pushPath = "/hooks/telegram";
const secretHeader = "x-telegram-bot-api-secret-token";

/** P11: answered when what came is durable; until then the platform pushes it again. */
export function pushRoute(
  { secret }: PushWebhook,
  opened: () =>
    | { readonly adapter: PlatformAdapter; readonly reception: UpdateHandler }
    | undefined,
): Route {
  return {
    method: "POST",
    path: pushPath,
    policy: "signed",
    async handle(c) {
      if (!secretsMatch(c.req.header(secretHeader) ?? "", secret)) return c.body(null, 401);
      const gateway = opened();
      if (gateway === undefined) return c.body(null, 503);
      const pushed: unknown = await c.req.json().catch(() => null);
      const incoming = gateway.adapter.decodePush(pushed);
      if (incoming === null) return c.body(null, 200);
      try {
        await gateway.reception.handle(incoming);
        return c.body(null, 200);
      } catch (error) {
        if (error instanceof RetryLater || error instanceof StoreFailure) return c.body(null, 503);
        throw error;
      }
    },
  };
}

function secretsMatch(given: string, secret: string): boolean {
  const [one, two] = [Buffer.from(given), Buffer.from(secret)];
  return one.length === two.length && timingSafeEqual(one, two);
}
