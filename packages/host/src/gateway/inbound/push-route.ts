import { timingSafeEqual } from "node:crypto";

import { StoreFailure } from "@holdfast/engine";

import type { Route } from "../../server/http/route.ts";
import type { Adapter } from "../adapter.ts";
import type { Reception } from "./handle-update.ts";
import { TryAgain } from "./admit-message.ts";

export interface Hook {
  /** Where the platform reaches us, without the path. */
  readonly url: string;
  /** Shown by the platform with everything that it pushes. There is no hook without one. */
  readonly secret: string;
}

export const hookPath = "/hooks/telegram";
const secretHeader = "x-telegram-bot-api-secret-token";

/** P11: answered when what came is durable; until then the platform pushes it again. */
export function hookRoute(
  { secret }: Hook,
  opened: () => { readonly adapter: Adapter; readonly reception: Reception } | undefined,
): Route {
  return {
    method: "POST",
    path: hookPath,
    policy: "signed",
    async handle(c) {
      if (!isSame(c.req.header(secretHeader) ?? "", secret)) return c.body(null, 401);
      const gateway = opened();
      if (gateway === undefined) return c.body(null, 503);
      const pushed: unknown = await c.req.json().catch(() => null);
      const incoming = gateway.adapter.decode(pushed);
      if (incoming === null) return c.body(null, 200);
      try {
        await gateway.reception.take(incoming);
        return c.body(null, 200);
      } catch (error) {
        if (error instanceof TryAgain || error instanceof StoreFailure) return c.body(null, 503);
        throw error;
      }
    },
  };
}

function isSame(given: string, secret: string): boolean {
  const [one, two] = [Buffer.from(given), Buffer.from(secret)];
  return one.length === two.length && timingSafeEqual(one, two);
}
