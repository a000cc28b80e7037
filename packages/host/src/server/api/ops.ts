import type { MemoryTryRow } from "@holdfast/engine";
import { jsonObject } from "@holdfast/protocol";

import { configSchema } from "../../ops/config/describe-settings.ts";
import type { Route } from "../http/route.ts";
import { mountCall } from "./contract.ts";
import type { ApiDeps } from "./deps.ts";
import { answer } from "./reply.ts";

/** What was used, what has still to be remembered, and what can be set. */
export function usageRoutes(parts: ApiDeps): Route[] {
  const { reads } = parts.log.store;
  return [
    mountCall(parts, "readUsage", async ({ owner, query: { sessionId, since } }) => {
      const usage = await reads.usage(owner, {
        ...(sessionId !== undefined && { session: sessionId }),
        ...(since !== undefined && { since }),
      });
      return answer({ usage: { ...usage } });
    }),
    mountCall(parts, "readConfigSchema", async () => answer(jsonObject.parse(configSchema()))),
    mountCall(parts, "readMemory", async ({ owner }) => {
      const { failing, ...backlog } = await reads.memory(owner);
      return answer({ backlog: { ...backlog, failing: failing && viewFailingMemory(failing) } });
    }),
  ];
}

function viewFailingMemory({ session, tries, retryAt, code, message }: MemoryTryRow) {
  return { sessionId: session, tries, retryAt, code: code ?? "unknown", message: message ?? "" };
}
