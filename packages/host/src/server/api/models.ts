import type { ModelView, ProviderView } from "@holdfast/protocol";

import { estimateAttachments } from "../../agent/documents/estimate-attachments.ts";
import type { Route } from "../http/routing.ts";
import {
  describeProvider,
  listModels,
  type ModelList,
  type ProviderListing,
} from "../../agent/models/list-models.ts";
import { type ModelRegistry } from "../../agent/models/registry.ts";
import { parseBaseUrl, takesPdfs, visionOf } from "../../agent/models/model-info.ts";
import { tableDate } from "../../agent/models/model-table.ts";
import { answer, type Call, mountCall, problem, type ProblemReply } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";

export function modelRoutes(deps: ApiDeps): Route[] {
  const { compactor, log, models, secrets, toolset } = deps;

  async function list() {
    const found = await listModels(models);
    const usualMode = deps.newSessionMode();
    return answer({ usual: models.defaultModel(), usualMode, tableDate, ...viewModels(found) });
  }

  async function putSecret({ params: { provider }, body: { key, baseUrl } }: Call<"putSecret">) {
    const address = baseUrl ?? models.address(provider);
    const parsed = address === null ? null : parseBaseUrl(address);
    if (parsed === null) {
      const message = "expected an address like https://models.example.org/v1";
      return problem("invalid_request", { errors: [{ path: "body.baseUrl", message }] });
    }
    const account = { provider, baseUrl: parsed, key, keyFrom: { from: "stored" as const } };
    const { state, detail } = await models.keyChecks.check(account);
    if (state === "rejected")
      return problem("key_rejected", detail === undefined ? {} : { detail });
    await secrets.put(provider, { key, baseUrl: parsed });
    return answer(undefined);
  }

  async function checkProvider({ params: { provider } }: Call<"checkProvider">) {
    const account = models.account(provider);
    if (!("code" in account)) await models.keyChecks.check(account);
    return answer({ provider: viewProvider(describeProvider(models, provider)) });
  }

  async function deleteSecret({ params: { provider } }: Call<"deleteSecret">) {
    await secrets.remove(provider);
    return answer(undefined);
  }

  async function estimate({ owner, body }: Call<"estimateAttachments">) {
    const { attachments, model = models.defaultModel() } = body;
    const { reads } = log.store;
    for (const { blobId } of attachments)
      if ((await reads.blob(owner, blobId)) === null) return problem("blob_not_found");
    const facts = models.facts(model);
    const { pdfs } = toolset;
    const tokens = await estimateAttachments(
      { pdfs, reads, count: compactor.count },
      owner,
      attachments,
      facts,
    );
    // A dollar for a million tokens is a millionth of a dollar for one.
    const costMicros = facts.price === undefined ? null : Math.round(tokens * facts.price.input);
    return answer({ tokens, costMicros, window: facts.window });
  }

  return [
    mountCall(deps, "listModels", list),
    mountCall(deps, "estimateAttachments", estimate),
    mountCall(deps, "putSecret", putSecret),
    mountCall(deps, "checkProvider", checkProvider),
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
    models: models.map(({ name, provider, usable, warning, facts, title, efforts, effort }) => ({
      name,
      ...(title !== null && { title }),
      provider,
      window: facts.window,
      output: facts.output,
      price: facts.price ? { ...facts.price } : null,
      images: visionOf(facts) === "yes",
      vision: visionOf(facts),
      pdfs: takesPdfs(facts),
      tools: facts.tools !== "none",
      ...(efforts.length > 0 && { efforts: [...efforts] }),
      ...(effort !== null && { effort }),
      usable,
      ...(warning !== null && { warning }),
    })),
    providers: providers.map(viewProvider),
  };
}

function viewProvider(provider: ProviderListing): ProviderView {
  return { ...provider, key: { ...provider.key }, check: { ...provider.check } };
}
