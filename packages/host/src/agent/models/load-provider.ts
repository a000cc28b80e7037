import type { LanguageModel } from "ai";

/** The provider packages' own door: one call, no retries, no tools run. Only objects pass it, never the name of a model. */
export type ProviderLanguageModel = Extract<LanguageModel, { specificationVersion: "v4" }>;

export type CallOptions = Parameters<ProviderLanguageModel["doStream"]>[0];
export type Prompt = CallOptions["prompt"];
export type PromptMessage = Prompt[number];
export type Tools = Extract<NonNullable<CallOptions["tools"]>[number], { type: "function" }>[];
type StreamResult = Awaited<ReturnType<ProviderLanguageModel["doStream"]>>;
export type StreamPart = StreamResult["stream"] extends ReadableStream<infer P> ? P : never;
