import type { ModelView, ProviderView } from "@holdfast/protocol";

import type { Route } from "../http/routing.ts";
import { listModels, type ModelList } from "../../agent/models/list-models.ts";
import { type ModelRegistry } from "../../agent/models/registry.ts";
import { parseBaseUrl } from "../../agent/models/model-info.ts";
import { tableDate } from "../../agent/models/model-table.ts";
import { answer, type Call, mountCall, problem, type ProblemReply } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";

export function modelRoutes(deps: ApiDeps): Route[] {
  const { models, secrets, newSessionMode: usualMode } = deps;

  async function list() {
    const found = await listModels(models);
    return answer({ usual: models.defaultModel(), usualMode, tableDate, ...viewModels(found) });
  }

  async function putSecret({ params: { provider }, body: { key, baseUrl } }: Call<"putSecret">) {
    const address = baseUrl ?? models.address(provider);
    const parsed = address === null ? null : parseBaseUrl(address);
    if (parsed === null) {
      const message = "expected an address like https://models.example.org/v1";
      return problem("invalid_request", { errors: [{ path: "body.baseUrl", message }] });
    }
    await secrets.put(provider, { key, baseUrl: parsed });
    return answer(undefined);
  }

  async function deleteSecret({ params: { provider } }: Call<"deleteSecret">) {
    await secrets.remove(provider);
    return answer(undefined);
  }

  return [
    mountCall(deps, "listModels", list),
    mountCall(deps, "putSecret", putSecret),
    mountCall(deps, "deleteSecret", deleteSecret),
  ];
}

/** Refuses a model that could not answer, and says what to do about it. */
export function modelProblem(
  models: ModelRegistry,
  name: string | null | undefined,
): ProblemReply | null {
  if (name === null || name === undefined) return null;
  const unusable = models.check(name);
  return unusable && problem(unusable.code, { detail: unusable.message });
}

function viewModels({ models, providers }: ModelList): {
  models: ModelView[];
  providers: ProviderView[];
} {
  return {
    models: models.map(({ name, provider, usable, warning, facts }) => ({
      name,
      provider,
      window: facts.window,
      output: facts.output,
      price: facts.price ? { ...facts.price } : null,
      images: facts.takes?.includes("images") ?? false,
      tools: facts.tools !== "none",
      usable,
      ...(warning !== null && { warning }),
    })),
    providers: providers.map((provider) => ({ ...provider, key: { ...provider.key } })),
  };
}
