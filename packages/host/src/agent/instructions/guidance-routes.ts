import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, mountCall, problem } from "../../server/api/endpoint.ts";
import type { Route } from "../../server/http/routing.ts";
import { builtInTextOf, type GuidanceText, openGuidanceStore } from "./guidance-store.ts";

export function guidanceRoutes(deps: ApiDeps): Route[] {
  const store = openGuidanceStore(deps.log.store.register);
  const { listTools } = deps;

  async function view({ part, own, version, changedAt, versions }: GuidanceText) {
    const tools = new Set((await listTools()).map(({ name }) => name));
    const builtIn = builtInTextOf(part, tools);
    return { part, text: own ?? builtIn, builtIn, version, changedAt, versions: [...versions] };
  }

  return [
    mountCall(deps, "listGuidance", async () =>
      answer({ guidance: await Promise.all((await store.list()).map(view)) }),
    ),
    mountCall(deps, "changeGuidance", async ({ params, headers, body }) => {
      const change = { text: body.text, version: headers["if-match"] };
      const changed = await store.write(params.part, change);
      return changed === "changed"
        ? problem("guidance_changed")
        : answer({ guidance: await view(changed) });
    }),
  ];
}
