import type { Route } from "../http/route.ts";
import { type Call, mountCall } from "./contract.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problem } from "./reply.ts";

/** What a session's workspace says to agents, and whether a person lets it. */
export function workspaceRoutes(parts: ApiDeps): Route[] {
  const { prompt } = parts;

  async function show({
    owner,
    params: { id: session },
  }: Pick<Call<"readWorkspace">, "owner" | "params">) {
    const state = await prompt.workspace({ owner, session });
    if (state === null) return problem("session_not_found");
    const { folder, instructions, trust } = state;
    return answer({ folder, trust, instructions: instructions && { ...instructions } });
  }

  async function decide({ owner, params, body }: Call<"trustWorkspace">) {
    const done = await prompt.decide({ owner, session: params.id }, body);
    switch (done) {
      case "kept":
        return show({ owner, params });
      case "changed":
        return problem("instructions_changed");
      case "busy":
        return problem("store_busy");
      case "not_found":
        return problem("session_not_found");
    }
  }

  return [mountCall(parts, "readWorkspace", show), mountCall(parts, "trustWorkspace", decide)];
}
