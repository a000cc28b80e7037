import { listModels } from "../../agent/models/list-models.ts";
import type { ModelRegistry } from "../../agent/models/registry.ts";
import { mountProtocolRoute, type ProtocolRouteDeps } from "../http/protocol.ts";
import type { Route } from "../http/routing.ts";
import { refuse, type Refusal, sendRefusal } from "./errors.ts";

/** The model that stands for a session's own. */
export const ownModel = "holdfast";

interface ModelObject {
  readonly id: string;
  readonly object: "model";
  readonly created: number;
  readonly owned_by: string;
}

export interface ModelsDeps extends ProtocolRouteDeps {
  readonly models: ModelRegistry;
}

export function modelRoutes(deps: ModelsDeps): Route[] {
  const { models } = deps;

  async function all(): Promise<readonly ModelObject[]> {
    const { models: known } = await listModels(models);
    const usable = known.filter(({ usable: isUsable }) => isUsable);
    return [
      modelObject(ownModel, "holdfast"),
      ...usable.map(({ name, provider }) => modelObject(name, provider)),
    ];
  }

  return [
    mountProtocolRoute(deps, {
      method: "GET",
      path: "/v1/models",
      handle: async ({ c }) => c.json({ object: "list", data: await all() }),
    }),
    mountProtocolRoute(deps, {
      method: "GET",
      // Names contain slashes, which not every client encodes.
      path: "/v1/models/:model{.+}",
      async handle({ c }) {
        const name = c.req.param("model") ?? "";
        const found = (await all()).find(({ id }) => id === name);
        return found === undefined ? sendRefusal(c, unknownModel(name)) : c.json(found);
      },
    }),
  ];
}

/** Nobody knows when a model was made, and clients only want a number. */
function modelObject(id: string, owner: string): ModelObject {
  return { id, object: "model", created: 0, owned_by: owner };
}

/** `null`: the session's own model. */
export function chooseModel(models: ModelRegistry, name: string): string | null | Refusal {
  if (name === ownModel || name === "") return null;
  const unusable = models.check(name);
  return unusable === null ? name : unknownModel(name, unusable.message);
}

function unknownModel(name: string, reason?: string): Refusal {
  const shown = name.slice(0, 100);
  const message = `There is no usable model ${JSON.stringify(shown)}. ${reason ?? ""}`.trim();
  return refuse(
    404,
    "model_not_found",
    `${message} GET /v1/models lists those there are; "${ownModel}" is the session's own.`,
    "model",
  );
}
