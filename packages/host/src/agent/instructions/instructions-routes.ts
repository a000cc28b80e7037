import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, mountCall, problem } from "../../server/api/endpoint.ts";
import type { Route } from "../../server/http/routing.ts";
import { type CustomInstructions, openInstructionsStore } from "./instructions-store.ts";

export function instructionsRoutes(deps: ApiDeps): Route[] {
  const store = openInstructionsStore(deps.log.store.register);
  return [
    mountCall(deps, "readInstructions", async ({ owner }) => view(await store.read(owner))),
    mountCall(deps, "changeInstructions", async ({ owner, headers, body }) => {
      const change = { text: body.text, version: headers["if-match"] };
      const changed = await store.write(owner, change);
      return changed === "changed" ? problem("custom_instructions_changed") : view(changed);
    }),
  ];
}

function view({ text, version, changedAt, versions }: CustomInstructions) {
  return answer({ instructions: { text, version, changedAt, versions: [...versions] } });
}
