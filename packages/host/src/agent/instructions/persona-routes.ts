import { createHash } from "node:crypto";

import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, type Call, mountCall, problem } from "../../server/api/endpoint.ts";
import { modelProblem } from "../../server/api/models.ts";
import type { Route } from "../../server/http/routing.ts";
import type { Persona } from "./persona-store.ts";
import { tidyText } from "./text-rows.ts";

export function personaRoutes(deps: ApiDeps): Route[] {
  const { personas } = deps;

  const list = async () => answer({ personas: (await personas.list()).map(viewPersona) });

  async function add({ body, ids }: Call<"addPersona">) {
    if (tidyText(body.text) === "") return emptyText;
    const invalidModel = modelProblem(deps.models, body.model);
    if (invalidModel !== null) return invalidModel;
    const id = createHash("sha256").update(ids.make("message")).digest("hex").slice(0, 24);
    const added = await personas.add({ ...body, id });
    return typeof added === "string"
      ? problem(problemOf[added])
      : answer({ persona: viewPersona(added) });
  }

  async function change({ params: { id }, headers, body }: Call<"changePersona">) {
    if (body.text !== undefined && tidyText(body.text) === "") return emptyText;
    const invalidModel = modelProblem(deps.models, body.model);
    if (invalidModel !== null) return invalidModel;
    const changed = await personas.change({ id, version: headers["if-match"] }, body);
    return typeof changed === "string"
      ? problem(problemOf[changed])
      : answer({ persona: viewPersona(changed) });
  }

  return [
    mountCall(deps, "listPersonas", list),
    mountCall(deps, "addPersona", add),
    mountCall(deps, "changePersona", change),
    mountCall(deps, "removePersona", async ({ params: { id }, headers }) => {
      const removed = await personas.remove({ id, version: headers["if-match"] });
      return removed === "removed" ? answer(undefined) : problem(problemOf[removed]);
    }),
    mountCall(deps, "setDefaultPersona", async ({ body: { id } }) =>
      (await personas.setDefault(id)) === "set" ? list() : problem("persona_not_found"),
    ),
  ];
}

const emptyText = problem("invalid_request", { detail: "The text is empty." });

const problemOf = {
  not_found: "persona_not_found",
  changed: "persona_changed",
  name_taken: "persona_name_taken",
  too_many: "too_many_personas",
  built_in: "persona_built_in",
  in_file: "persona_in_file",
} as const;

function viewPersona(persona: Persona) {
  const { id, name, text, model, isDefault, isFileOnly, changedAt, version, versions } = persona;
  return {
    id,
    name,
    text,
    model,
    isDefault,
    isFileOnly,
    changedAt,
    version,
    versions: [...versions],
  };
}
