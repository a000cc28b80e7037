import type { Json } from "@holdfast/protocol";
import { readToEnd } from "@holdfast/testing/fakes/scripted-model";
import { chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import {
  type HeardRequest,
  openProviderServer,
  type ProviderServer,
  refuses,
  type ServerAnswer,
} from "@holdfast/testing/host/providers/provider-server";
import { onTestFinished } from "vitest";

import { createModelRegistry, type ModelRegistry } from "../../../src/agent/models/registry.ts";
import { createLocalServers } from "../../../src/agent/models/servers/local-servers.ts";
import { createServedModels } from "../../../src/agent/models/servers/served-models.ts";
import { memorySecrets, noModelConfig } from "./models.ts";
import { requestOf, unaborted, user } from "./provider-rig.ts";

export type Answers = Readonly<
  Record<string, Json | ServerAnswer | ((request: HeardRequest) => Json)>
>;

const isServerAnswer = (value: unknown): value is ServerAnswer =>
  typeof value === "object" && value !== null && ("frames" in value || "cut" in value);

/** Serves these answers by path. By default a chat gets a greeting, and anything else 404. */
export async function serveModels(answers: Answers): Promise<ProviderServer> {
  const server = await openProviderServer((request) => {
    const given = answers[request.path];
    const answer = typeof given === "function" ? given(request) : given;
    if (isServerAnswer(answer)) return answer;
    if (answer !== undefined) return refuses(200, answer);
    if (request.path.endsWith("/chat/completions"))
      return { frames: chatFrames([{ text: "Good day." }]) };
    return refuses(404, { error: "not found" });
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

interface OpenModelsOptions {
  readonly settings?: Partial<Record<keyof typeof noModelConfig, unknown>>;
  readonly environment?: Record<string, string>;
  readonly now?: () => number;
  readonly lmStudio?: string;
  readonly warn?: (message: string) => void;
}

export function openModels({
  settings = {},
  environment = {},
  now,
  lmStudio,
  warn,
}: OpenModelsOptions): ModelRegistry {
  const source = { from: "environment", name: "test" } as const;
  const set = Object.entries(settings).map(([name, value]) => [name, { value, source }] as const);
  const config: typeof noModelConfig = { ...noModelConfig, ...Object.fromEntries<object>(set) };
  return createModelRegistry({
    config,
    environment,
    secrets: memorySecrets(),
    served: createServedModels(now && { now }),
    local: createLocalServers(lmStudio ?? "http://127.0.0.1:9/v1"),
    ...(warn && { warn }),
  });
}

export const compatible = (server: ProviderServer, more: OpenModelsOptions["settings"] = {}) => ({
  settings: { openaiBaseUrl: `${server.url}/v1`, ...more },
});
export const ollama = (server: ProviderServer, more: OpenModelsOptions["settings"] = {}) => ({
  settings: { ollamaBaseUrl: `${server.url}/v1`, ...more },
});

export async function ask(models: ModelRegistry, name: string) {
  return readToEnd(models.open(name).stream(requestOf(user("Hi")), unaborted()));
}

export const toolsIn = ({ body }: HeardRequest): boolean =>
  JSON.stringify(body).includes('"tools"');
export const chats = ({ requests }: ProviderServer) =>
  requests.filter(({ path }) => /\/(?:chat\/completions|api\/chat)$/.test(path));

/** As OpenRouter lists it. */
export const openRouter = {
  id: "maker/large",
  context_length: 400_000,
  architecture: { input_modalities: ["text", "image", "video"] },
  pricing: { prompt: "0.000003", completion: "0.000015", input_cache_read: "0.0000003" },
  top_provider: { context_length: 200_000, max_completion_tokens: 64_000, is_moderated: false },
  supported_parameters: ["tools", "temperature"],
};
