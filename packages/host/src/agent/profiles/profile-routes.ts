import { join } from "node:path";

import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, type Call, mountCall, problem } from "../../server/api/endpoint.ts";
import type { Route } from "../../server/http/routing.ts";
import type { ListedProfile, ProfileList } from "./profiles.ts";

export function profileRoutes(deps: ApiDeps): Route[] {
  const { profiles } = deps;

  const viewList = ({ profiles: listed, skipped }: ProfileList) => ({
    agents: listed.map(viewProfile),
    skipped: skipped.map(({ path, reason }) => ({ path, reason })),
  });

  const listOwn = async (owner: Call<"listAgents">["owner"]) =>
    answer(viewList(await profiles.listOwn(owner)));

  async function showSession({
    owner,
    params: { id: session },
  }: Pick<Call<"listSessionAgents">, "owner" | "params">) {
    const workspace = await profiles.listWorkspace({ owner, session });
    if (workspace === null) return problem("session_not_found");
    const available = await profiles.available({ owner, session });
    return answer({
      available: available.map(({ name, description }) => ({ name, description })),
      workspace: viewList(workspace),
    });
  }

  return [
    mountCall(deps, "listAgents", ({ owner }) => listOwn(owner)),
    mountCall(deps, "switchAgent", async ({ owner, params, body }) =>
      (await profiles.switch(owner, params.name, body.state)) === "kept"
        ? listOwn(owner)
        : problem("agent_not_found"),
    ),
    mountCall(deps, "listSessionAgents", showSession),
    mountCall(deps, "trustAgent", async ({ owner, params, body }) => {
      const decided = await profiles.decide({ owner, session: params.id }, body);
      if (decided === "kept") return showSession({ owner, params });
      return problem(decided === "changed" ? "agent_changed" : "agent_not_found");
    }),
  ];
}

function viewProfile(profile: ListedProfile) {
  const { name, description, source, root, path, state, shadowedBy, hash, prompt } = profile;
  const { tools, rights, mode, model, effort, budget, warnings } = profile;
  return {
    name,
    description,
    source,
    path: source === "workspace" ? path : join(root, path),
    state,
    shadowedBy,
    hash,
    text: prompt,
    tools: tools === null ? null : [...tools],
    rights,
    mode,
    model,
    effort,
    budget,
    warnings: [...warnings],
  };
}
