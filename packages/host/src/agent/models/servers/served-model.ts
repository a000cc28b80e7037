import { z } from "zod";
import type { Price } from "../model-table.ts";

/** What a server reports about one of its models. What it does not report is absent. */
export interface ServedModel {
  readonly id: string;
  /** In tokens: what a request can use now. */
  readonly window?: number;
  /** In tokens: what the model supports if the server allots that much. */
  readonly maxWindow?: number;
  readonly output?: number;
  readonly price?: Price;
  readonly images?: boolean;
  readonly pdfs?: boolean;
  readonly tools?: boolean;
  /** Requests can ask the server for a window. */
  readonly takesWindow?: boolean;
  /** Some servers list models that cannot chat, such as those for embeddings. */
  readonly chats?: boolean;
}

const tokens = z.int().min(256).max(100_000_000).optional().catch(undefined);
const text = z.string().optional().catch(undefined);
const texts = z.array(z.string()).optional().catch(undefined);
// Only a number or its text: `null` or an empty text says nothing, least of all that tokens cost nothing.
const dollarsPerToken = z
  .union([z.number(), z.string().regex(/^\d/).transform(Number)])
  .pipe(z.number().nonnegative().max(1))
  .optional()
  .catch(undefined);

/** The fields of OpenRouter, vLLM, llama.cpp, Groq and Mistral. Others are ignored. */
const listedModel = z.object({
  id: z.string().min(1).max(180),
  owned_by: text,
  context_length: tokens,
  context_window: tokens,
  max_context_length: tokens,
  max_model_len: tokens,
  max_completion_tokens: tokens,
  top_provider: z
    .object({ context_length: tokens, max_completion_tokens: tokens })
    .optional()
    .catch(undefined),
  architecture: z.object({ input_modalities: texts }).optional().catch(undefined),
  supported_parameters: texts,
  pricing: z
    .object({
      prompt: dollarsPerToken,
      completion: dollarsPerToken,
      input_cache_read: dollarsPerToken,
      input_cache_write: dollarsPerToken,
    })
    .optional()
    .catch(undefined),
  meta: z.object({ n_ctx_train: tokens, n_ctx: tokens }).optional().catch(undefined),
});
type ListedModel = z.infer<typeof listedModel>;

const modelList = z.object({ data: z.array(z.unknown()) });

/** More than any server lists; bounds how much is kept. */
const maxModels = 20_000;

export interface ServerList {
  /** The owner of the first model, by which some servers name themselves. */
  readonly owner: string | undefined;
  readonly models: readonly ServedModel[];
}

/** Reads the answer of `/models`. An entry that cannot be read is left out, not the whole list. */
export function readModelList(answer: unknown): ServerList {
  const { data } = modelList.parse(answer);
  const listed = data
    .slice(0, maxModels)
    .flatMap((entry) => listedModel.safeParse(entry).data ?? []);
  return { owner: listed[0]?.owned_by, models: listed.map(describeListed) };
}

function describeListed(listed: ListedModel): ServedModel {
  const { id, top_provider: provider, architecture, supported_parameters: parameters } = listed;
  const window =
    listed.meta?.n_ctx ??
    provider?.context_length ??
    listed.context_length ??
    listed.context_window ??
    listed.max_model_len ??
    listed.max_context_length;
  return defined({
    id,
    window,
    maxWindow: listed.meta?.n_ctx_train,
    output: provider?.max_completion_tokens ?? listed.max_completion_tokens,
    price: priceOf(listed.pricing),
    images: architecture?.input_modalities?.includes("image"),
    pdfs: architecture?.input_modalities?.includes("file"),
    tools: parameters?.includes("tools"),
  });
}

/** From dollars per token to dollars per million. Cached tokens without a price of their own cost the same as others. */
function priceOf(pricing: ListedModel["pricing"]): Price | undefined {
  if (pricing?.prompt === undefined || pricing.completion === undefined) return undefined;
  const { prompt, completion, input_cache_read: read, input_cache_write: write } = pricing;
  const perMillion = (dollars: number): number => Math.round(dollars * 1e12) / 1e6;
  return {
    input: perMillion(prompt),
    output: perMillion(completion),
    cacheRead: perMillion(read ?? prompt),
    cacheWrite: perMillion(write ?? prompt),
  };
}

const llamaProps = z.object({
  default_generation_settings: z.object({ n_ctx: tokens }).optional().catch(undefined),
  modalities: z.object({ vision: z.boolean().optional() }).optional().catch(undefined),
});

/** llama.cpp's `/props`. */
export function readLlamaProps(answer: unknown): Omit<ServedModel, "id"> {
  const { default_generation_settings: settings, modalities } = llamaProps.parse(answer);
  return defined({ window: settings?.n_ctx, images: modalities?.vision });
}

const lmStudioModel = z.object({
  id: z.string(),
  type: text,
  max_context_length: tokens,
  loaded_context_length: tokens,
});

/** LM Studio's `/api/v0/models`. It supports tools with every model, by its own prompt format where the model has none. */
export function readLmStudioModels(answer: unknown): readonly ServedModel[] {
  const { data } = modelList.parse(answer);
  return data.flatMap((entry) => {
    const model = lmStudioModel.safeParse(entry).data;
    if (model === undefined) return [];
    const { id, type, max_context_length: maxWindow, loaded_context_length: window } = model;
    const images = type === undefined ? undefined : type === "vlm";
    return defined({ id, window, maxWindow, images, chats: type !== "embeddings" });
  });
}

const ollamaModel = z.object({
  capabilities: texts,
  parameters: text,
  model_info: z.record(z.string(), z.unknown()).optional().catch(undefined),
});

/** Ollama's `/api/show`. */
export function readOllamaModel(answer: unknown): Omit<ServedModel, "id"> {
  const { capabilities, parameters, model_info: info = {} } = ollamaModel.parse(answer);
  const trained = Object.entries(info).find(([name]) => name.endsWith(".context_length"))?.[1];
  const set = /^num_ctx\s+(\d+)\s*$/m.exec(parameters ?? "")?.[1];
  return defined({
    window: set === undefined ? undefined : tokens.parse(Number(set)),
    maxWindow: tokens.parse(trained),
    images: capabilities?.includes("vision"),
    tools: capabilities?.includes("tools"),
    chats: capabilities?.includes("completion"),
  });
}

const ollamaLoaded = z.object({
  models: z.array(z.object({ name: z.string(), context_length: tokens })),
});

/** Ollama's `/api/ps`: the windows of the models that are loaded, by name. */
export function readOllamaLoaded(answer: unknown): ReadonlyMap<string, number> {
  const { models } = ollamaLoaded.parse(answer);
  return new Map(
    models.flatMap(({ name, context_length: window }) =>
      window === undefined ? [] : [[name, window] as const],
    ),
  );
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

function defined<T extends object>(
  values: T,
): Partial<Defined<T>> & Pick<Defined<T>, RequiredKeys<T>> {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Defined<T>;
}

type RequiredKeys<T> = { [K in keyof T]: undefined extends T[K] ? never : K }[keyof T];
