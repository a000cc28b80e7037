import type { Model, ModelEvent, ModelFailure, ModelRequest } from "@holdfast/engine";
import type { BlobId, SessionId } from "@holdfast/protocol";

import { type Account, providerInfo, setupHint } from "./accounts.ts";
import { loadLanguageModel, type OpenAiApi, type CallOptions } from "./load-provider.ts";
import { costOf, type ModelFacts } from "./model-info.ts";
import { classifyFailure, isReasoningRefused } from "./provider-failure.ts";
import {
  type ConnectionLimits,
  openProviderConnection,
  defaultConnectionLimits,
} from "./provider-connection.ts";
import {
  type PromptFormat,
  toProviderPrompt,
  toProviderTools,
  wireName,
} from "./provider-prompt.ts";
import { ProviderStreamReader } from "./provider-stream.ts";

export interface ProviderModelDeps {
  /** As in HOLDFAST_MODEL, and the provider's own name for it. */
  readonly name: string;
  readonly id: string;
  readonly account: Account;
  readonly facts: ModelFacts;
  readonly api?: OpenAiApi;
  readonly image?: (blobId: BlobId) => Promise<Uint8Array | null>;
  readonly limits?: ConnectionLimits;
  readonly redact?: (text: string) => string;
  /** Sessions whose thoughts the provider did not take back. */
  readonly withoutReasoning?: Set<SessionId>;
}

/** A model behind a provider's package. One call is one request: whether it is tried again is the engine's decision. */
export function createProviderModel(parts: ProviderModelDeps): Model {
  return { stream: (request, signal) => streamFrom(parts, request, signal) };
}

async function* streamFrom(
  parts: ProviderModelDeps,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const { withoutReasoning: thoughtless = new Set() } = parts;
  const isThoughtless = request.session !== undefined && thoughtless.has(request.session);
  const first = yield* requestOnce(parts, request, signal, isThoughtless ? "left out" : "told");
  if (first === null) return;
  if (isThoughtless || first.hasSpoken || !isReasoningRefused(first.error)) {
    yield { kind: "failed", failure: first.failure };
    return;
  }
  // Else a conversation whose key has changed could never go on.
  if (request.session !== undefined) thoughtless.add(request.session);
  for (const oldest of thoughtless)
    if (thoughtless.size > maxSessionsWithoutReasoning) thoughtless.delete(oldest);
  const second = yield* requestOnce(parts, request, signal, "left out");
  if (second !== null) yield { kind: "failed", failure: second.failure };
}

/** One that was forgotten is asked twice once more. */
const maxSessionsWithoutReasoning = 1_000;

interface FailedRequest {
  readonly failure: ModelFailure;
  readonly error: unknown;
  readonly hasSpoken: boolean;
}

async function* requestOnce(
  parts: ProviderModelDeps,
  request: ModelRequest,
  signal: AbortSignal,
  thoughts: PromptFormat["reasoning"],
): AsyncGenerator<ModelEvent, FailedRequest | null> {
  const connection = openProviderConnection(parts.limits ?? defaultConnectionLimits);
  const telling = promptFormatOf(parts, thoughts);
  const names = new Map(request.tools.map(({ name }) => [wireName(name), name]));
  const listener = new ProviderStreamReader(telling, names);
  try {
    const { account, id, api = "responses" } = parts;
    const language = await loadLanguageModel(account, id, { fetch: connection.fetch, api });
    const { stream } = await language.doStream({
      ...(await optionsFor(parts, request, telling)),
      abortSignal: signal,
    });
    for await (const part of stream) yield* listener.read(part);
    yield* usageEvents(parts, listener);
    const failure = finishFailure(parts, listener, connection.isDone ? "said" : "not said");
    return failure && { failure, error: null, hasSpoken: true };
  } catch (error) {
    if (signal.aborted) return null;
    yield* usageEvents(parts, listener);
    const failure = describeError(parts, connection.failure ?? error);
    return { failure, error, hasSpoken: listener.hasSpoken };
  } finally {
    // Whoever leaves early must not leave a connection behind that nobody reads.
    connection.close();
  }
}

function promptFormatOf(
  parts: ProviderModelDeps,
  thoughts: PromptFormat["reasoning"],
): PromptFormat {
  const { account, name, facts, image = async () => null } = parts;
  const { provider } = account;
  const isServer = provider === "openai-compatible" || provider === "ollama";
  return {
    by: `${name}@${account.baseUrl}`,
    options: isServer ? "openaiCompatible" : provider,
    reasoning: thoughts,
    callIds: provider === "anthropic" || provider === "openai" ? "its own" : "ours",
    cache: provider === "anthropic" ? "marked" : "automatic",
    image,
    takesImages: facts.takes?.includes("images") ? "yes" : "no",
  };
}

async function optionsFor(
  parts: ProviderModelDeps,
  request: ModelRequest,
  telling: PromptFormat,
): Promise<CallOptions> {
  const { account, facts } = parts;
  const prompt = await toProviderPrompt(request.messages, telling);
  const tools = toProviderTools(request.tools, telling);
  const options = { prompt, ...(tools.length > 0 && { tools }) };
  switch (account.provider) {
    case "anthropic":
      return {
        ...options,
        maxOutputTokens: answerTokenLimit(facts),
        ...(facts.thinks && { providerOptions: { anthropic: { thinking: adaptiveThinking } } }),
      };
    case "openai": {
      // What is kept is kept here: the conversation is in the log and nowhere else.
      const key = request.session === undefined ? {} : { promptCacheKey: request.session };
      return { ...options, providerOptions: { openai: { store: false, ...key } } };
    }
    case "google":
      return {
        ...options,
        ...(facts.thinks && { providerOptions: { google: { thinkingConfig: withThoughts } } }),
      };
    case "openai-compatible":
    case "ollama":
      return options;
  }
}

const withThoughts = { includeThoughts: true };
const adaptiveThinking = { type: "adaptive", display: "summarized" };

/** An answer's room is taken off the window: what compaction leaves free is what may be asked for. */
function answerTokenLimit({ window, output }: ModelFacts): number {
  return Math.min(output, Math.max(4_096, Math.floor(window * 0.15)));
}

function* usageEvents(
  { facts }: ProviderModelDeps,
  { usage }: ProviderStreamReader,
): Generator<ModelEvent> {
  if (usage === null) return;
  const cost = facts.price && { costMicros: costOf(usage, facts.price) };
  yield { kind: "usage", usage: { ...usage, ...cost } };
}

function finishFailure(
  { account }: ProviderModelDeps,
  { finish }: ProviderStreamReader,
  done: "said" | "not said",
): ModelFailure | null {
  const title = providerInfo[account.provider].title;
  switch (finish?.finishReason.unified) {
    case "stop":
    case "tool-calls":
      return null;
    case "length":
      return {
        class: "fatal",
        code: "model_output_limit",
        message: "The answer reached the longest that this model gives.",
      };
    case "content-filter":
      return { class: "refused", code: "model_refused", message: `${title} refused to answer.` };
    default:
      // Some servers name no reason; a connection that was cut does not say that it is done.
      if (done === "said") return null;
      return {
        class: "retryable",
        code: "model_cut",
        message: `The connection to ${title} was cut before the answer was whole.`,
      };
  }
}

function describeError(
  { account, id, redact = (text) => text }: ProviderModelDeps,
  error: unknown,
) {
  return classifyFailure(error, {
    provider: providerInfo[account.provider].title,
    model: id,
    whatToSet: setupHint(account.provider),
    redact: (text) =>
      redact(account.key === null ? text : text.replaceAll(account.key, "[redacted]")),
    now: Date.now,
  });
}
