import { createHash } from "node:crypto";

import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, type Call, mountCall, problem } from "../../server/api/endpoint.ts";
import { modelProblem } from "../../server/api/models.ts";
import type { Route } from "../../server/http/routing.ts";
import { openProjectFiles } from "./project-files.ts";
import { openProjectStore, type Project, type ProjectSettings } from "./project-store.ts";

export function projectRoutes(deps: ApiDeps): Route[] {
  const projects = openProjectStore(deps.log.store.register);
  const files = openProjectFiles(deps.log.store);

  /** What sessions would be refused is refused now. */
  async function refusal(
    owner: Call<"addProject">["owner"],
    { workspace, persona, model }: ProjectSettings,
  ) {
    if (persona != null && (await deps.personas.resolve(persona)).id !== persona)
      return problem("persona_not_found");
    const message =
      workspace == null ? null : await deps.toolset.workspaces.refusal(owner, workspace);
    if (message !== null)
      return problem("invalid_request", { errors: [{ path: "workspace", message }] });
    return modelProblem(deps.models, model);
  }

  async function add({ owner, body, ids }: Call<"addProject">) {
    const refused = await refusal(owner, body);
    if (refused !== null) return refused;
    const id = createHash("sha256").update(ids.make("message")).digest("hex").slice(0, 24);
    const added = await projects.add(owner, { ...body, id });
    return typeof added === "string" ? problem(problemOf[added]) : answer(view(added));
  }

  async function change({ owner, params: { id }, headers, body }: Call<"changeProject">) {
    const refused = await refusal(owner, body);
    if (refused !== null) return refused;
    const changed = await projects.change(owner, { id, version: headers["if-match"] }, body);
    return typeof changed === "string" ? problem(problemOf[changed]) : answer(view(changed));
  }

  return [
    mountCall(deps, "listProjects", async ({ owner }) => {
      const listed = await projects.list(owner);
      return answer({ projects: listed.map((project) => view(project).project) });
    }),
    mountCall(deps, "addProject", add),
    mountCall(deps, "changeProject", change),
    mountCall(deps, "removeProject", async ({ owner, params: { id }, headers }) => {
      const removed = await projects.remove(owner, { id, version: headers["if-match"] });
      if (removed === "changed") return problem("project_changed");
      // Also if it is asked again because this was interrupted.
      await files.removeAll(owner, id);
      return removed === "removed" ? answer(undefined) : problem("project_not_found");
    }),
  ];
}

const problemOf = {
  not_found: "project_not_found",
  changed: "project_changed",
  name_taken: "project_name_taken",
  too_many: "too_many_projects",
} as const;

function view(project: Project) {
  const { id, name, text, workspace, persona, model, changedAt, version, versions } = project;
  return {
    project: {
      id,
      name,
      text,
      workspace,
      persona,
      model,
      changedAt,
      version,
      versions: [...versions],
    },
  };
}
