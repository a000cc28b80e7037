import { type ReasoningEffort, reasoningEffort } from "@holdfast/protocol";
import { z } from "zod";

import {
  modelOverrides,
  type ModelOverrides,
  parseBaseUrl,
  parseModelName,
} from "../../agent/models/model-info.ts";
import { listOf, setting } from "./setting.ts";

const modelName = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/)
  .refine((name) => parseModelName(name) !== null);

const baseUrl = z
  .string()
  .max(2_000)
  .transform(parseBaseUrl)
  .refine((url) => url !== null);
const allowedBaseUrl = "an address like https://models.example.org/v1";

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Which models answer, and where. Keys are no settings: they come from the environment or are stored. */
export const modelSettings = {
  model: setting<string | undefined>({
    about: "the model that answers",
    allowed:
      "rehearsal, or a provider and its model: anthropic/…, openai/…, google/…, openai-compatible/… or ollama/…",
    schema: modelName,
    fallback: () => undefined,
    fallbackInWords: "one of the provider whose key is there, or else rehearsal",
  }),
  modelFallback: setting<readonly string[]>({
    about:
      "the models that answer when another is overloaded, unreachable, out of credit or does not take its key",
    allowed: "names of models, as for model, in the order in which they are asked",
    schema: listOf(modelName),
    fallback: () => [],
    fallbackInWords: "none: the run fails and says why",
  }),
  modelEffort: setting<Readonly<Record<string, ReasoningEffort>>>({
    about: "how hard models think before they answer, where they support it",
    allowed:
      'an object like {"openai/gpt-6.1-sol": "high"} with low, medium or high, or that as JSON',
    schema: z.preprocess(
      (value) => (typeof value === "string" ? parseJson(value) : value),
      z.record(modelName, reasoningEffort),
    ),
    fallback: () => ({}),
    fallbackInWords: "as each provider decides",
  }),
  smallModel: setting<string | undefined>({
    about: "the model that names conversations and writes summaries",
    allowed: "the name of a model, as for model",
    schema: modelName,
    fallback: () => undefined,
    fallbackInWords: "a small one of the session's provider",
  }),
  openaiBaseUrl: setting<string | undefined>({
    about: "where openai/… and openai-compatible/… are served",
    allowed: allowedBaseUrl,
    schema: baseUrl,
    fallback: () => undefined,
    fallbackInWords: "OpenAI's own address",
  }),
  openaiApi: setting<"responses" | "chat">({
    about: "how openai/… is asked",
    allowed: "responses, or chat for a server that knows only chat completions",
    schema: z.enum(["responses", "chat"]),
    fallback: () => "responses",
    fallbackInWords: "responses",
  }),
  anthropicBaseUrl: setting<string | undefined>({
    about: "where anthropic/… is served",
    allowed: allowedBaseUrl,
    schema: baseUrl,
    fallback: () => undefined,
    fallbackInWords: "Anthropic's own address",
  }),
  googleBaseUrl: setting<string | undefined>({
    about: "where google/… is served",
    allowed: allowedBaseUrl,
    schema: baseUrl,
    fallback: () => undefined,
    fallbackInWords: "Google's own address",
  }),
  ollamaBaseUrl: setting<string | undefined>({
    about: "where Ollama is served",
    allowed: "an address like http://127.0.0.1:11434/v1",
    schema: baseUrl,
    fallback: () => undefined,
    fallbackInWords: "http://127.0.0.1:11434/v1",
  }),
  localModels: setting<"on" | "off">({
    about: "whether to look for Ollama and LM Studio on this machine",
    allowed: "on (ask their default loopback addresses what they serve) or off",
    schema: z.enum(["on", "off"]),
    fallback: () => "on",
    fallbackInWords: "on",
  }),
  models: setting<ModelOverrides>({
    about:
      "what is known better here of a model: its window, its longest answer, its price, who answers in its place",
    allowed:
      'an object like {"ollama/*": {"window": 16000, "price": {"input": 0, "output": 0}}}, or that as JSON',
    schema: z.preprocess(
      (value) => (typeof value === "string" ? parseJson(value) : value),
      modelOverrides,
    ),
    fallback: () => ({}),
    fallbackInWords: "the table of this version",
  }),
};
