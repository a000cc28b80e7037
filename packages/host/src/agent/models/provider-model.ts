import type { Model, ModelEvent, ModelFailure, ModelRequest, ModelUsage } from "@holdfast/engine";
import { dropOldest, type ReasoningEffort, type SessionId } from "@holdfast/protocol";

import { type Account, providerInfo, setupHint } from "./accounts.ts";
import { loadLanguageModel, type OpenAiApi, type CallOptions } from "./load-provider.ts";
import {
  type AttachmentReader,
  costOf,
  type ModelFacts,
  pdfPagesFor,
  visionOf,
} from "./model-info.ts";
import {
  classifyFailure,
  isReasoningRefused,
  isSummaryRefused,
  isToolsRefused,
} from "./provider-failure.ts";
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
  /** As in HOLDFAST_MODEL; `model` is the provider's own name for it. */
  readonly name: string;
  readonly id: string;
  readonly account: Account;
  readonly facts: ModelFacts;
  /** `null` leaves it to the provider. */
  readonly effort?: ReasoningEffort | null;
  readonly api?: OpenAiApi;
  readonly file?: AttachmentReader;
  readonly limits?: ConnectionLimits;
  readonly redact?: (text: string) => string;
  /** Sessions whose reasoning the provider refused to take back. */
  readonly withoutReasoning?: Set<SessionId>;
  /** Names of the models whose server refused tools. */
  readonly withoutTools?: Set<string>;
  /** Names of the models whose provider refused to summarise their thoughts. */
  readonly withoutSummaries?: Set<string>;
}

/** A model behind a provider package. One call is one request: retrying is the engine's decision. */
export function createProviderModel(deps: ProviderModelDeps): Model {
  return { stream: (request, signal) => streamFrom(deps, request, signal) };
}

async function* streamFrom(
  deps: ProviderModelDeps,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const { withoutReasoning = new Set(), withoutTools = new Set(), name } = deps;
  const { withoutSummaries = new Set() } = deps;
  // Each retry leaves out one more thing that the provider refused, so there are at most four requests.
  for (;;) {
    const omitted: Omitted = {
      reasoning: request.session !== undefined && withoutReasoning.has(request.session),
      tools: deps.facts.tools === "none" || withoutTools.has(name) || request.tools.length === 0,
      summaries: deps.account.provider !== "openai" || withoutSummaries.has(name),
    };
    const failed = yield* requestOnce(deps, request, signal, omitted);
    if (failed === null) return;
    if (!failed.hasOutput && !omitted.tools && isToolsRefused(failed.error)) {
      dropOldest(withoutTools.add(name), maxRemembered);
      continue;
    }
    if (!failed.hasOutput && !omitted.summaries && isSummaryRefused(failed.error)) {
      dropOldest(withoutSummaries.add(name), maxRemembered);
      continue;
    }
    // Otherwise a conversation could never continue after a change of key.
    const { session } = request;
    const canOmit = session !== undefined && !omitted.reasoning && !failed.hasOutput;
    if (canOmit && isReasoningRefused(failed.error)) {
      dropOldest(withoutReasoning.add(session), maxRemembered);
      continue;
    }
    yield { kind: "failed", failure: failed.failure };
    return;
  }
}

/** What is left out of a request because the provider does not accept it. */
interface Omitted {
  readonly reasoning: boolean;
  readonly tools: boolean;
  readonly summaries: boolean;
}

/** A forgotten refusal costs one extra request. */
const maxRemembered = 1_000;

interface FailedRequest {
  readonly failure: ModelFailure;
  readonly error: unknown;
  readonly hasOutput: boolean;
}

async function* requestOnce(
  deps: ProviderModelDeps,
  request: ModelRequest,
  signal: AbortSignal,
  omitted: Omitted,
): AsyncGenerator<ModelEvent, FailedRequest | null> {
  const connection = openProviderConnection(deps.limits ?? defaultConnectionLimits);
  const format = promptFormatOf(deps, omitted.reasoning ? "omitted" : "sent");
  const names = new Map(request.tools.map(({ name }) => [wireName(name), name]));
  const reader = new ProviderStreamReader(format, names);
  try {
    const { account, id, api = "responses" } = deps;
    // A key belongs to the base URL, and Ollama's own API is beside it.
    const asks = deps.facts.asksWindow === true && account.key === null;
    const contextTokens = asks ? deps.facts.window : undefined;
    const { fetch } = connection;
    const language = await loadLanguageModel(account, id, { fetch, api, contextTokens });
    const { stream } = await language.doStream({
      ...(await optionsFor(deps, request, format, omitted)),
      abortSignal: signal,
    });
    for await (const part of stream) {
      yield* reader.read(part);
      // Also of an answer that is stopped right after its start.
      if (part.type === "custom") yield* usageEvents(deps, reader.usage);
    }
    yield* reader.end();
    yield* usageEvents(deps, usageOfEnd(reader, request));
    const failure = finishFailure(deps, reader, connection.isDone ? "seen" : "missing");
    return failure && { failure, error: null, hasOutput: true };
  } catch (error) {
    if (signal.aborted) return null;
    yield* reader.end();
    yield* usageEvents(deps, usageOfEnd(reader, request));
    const failure = describeError(deps, connection.failure ?? error);
    return { failure, error, hasOutput: reader.hasOutput };
  } finally {
    // A consumer that leaves early must not leave an unread connection behind.
    connection.close();
  }
}

function promptFormatOf(
  deps: ProviderModelDeps,
  reasoning: PromptFormat["reasoning"],
): PromptFormat {
  const { account, name, facts, file = async () => null } = deps;
  const { provider } = account;
  const isServer = provider === "openai-compatible" || provider === "ollama";
  return {
    by: `${name}@${account.baseUrl}`,
    options: isServer ? "openaiCompatible" : provider,
    reasoning,
    callIds: provider === "anthropic" || provider === "openai" ? "provider" : "engine",
    cache: provider === "anthropic" ? "marked" : "automatic",
    file,
    // A server that cannot see says so; leaving them out would say nothing.
    takesImages: visionOf(facts) === "no" ? "no" : "yes",
    pdfPages: pdfPagesFor(facts),
  };
}

async function optionsFor(
  deps: ProviderModelDeps,
  request: ModelRequest,
  format: PromptFormat,
  omitted: Omitted,
): Promise<CallOptions> {
  const { account, facts, effort = null } = deps;
  const prompt = await toProviderPrompt(request.messages, format);
  const tools = toProviderTools(omitted.tools ? [] : request.tools, format);
  const options = { prompt, ...(tools.length > 0 && { tools }) };
  switch (account.provider) {
    case "anthropic":
      return {
        ...options,
        maxOutputTokens: answerTokenLimit(facts),
        ...(facts.thinks && {
          providerOptions: {
            anthropic: { thinking: adaptiveThinking, ...(effort !== null && { effort }) },
          },
        }),
      };
    case "openai": {
      // The provider stores nothing: the conversation lives in the log alone.
      const key = request.session === undefined ? {} : { promptCacheKey: request.session };
      const reasoning = {
        ...(effort !== null && { reasoningEffort: effort }),
        // The package asks for summaries by itself with an effort, and knows which models have thoughts.
        ...(deps.api !== "chat" && { reasoningSummary: omitted.summaries ? null : "auto" }),
      };
      return { ...options, providerOptions: { openai: { store: false, ...key, ...reasoning } } };
    }
    case "google":
      return {
        ...options,
        ...(facts.thinks && {
          providerOptions: {
            google: {
              thinkingConfig: {
                ...withThoughts,
                ...(effort !== null && { thinkingLevel: effort }),
              },
            },
          },
        }),
      };
    case "openai-compatible":
    case "ollama":
      return {
        ...options,
        includeRawChunks: true,
        ...(facts.outputLimit !== undefined && { maxOutputTokens: facts.outputLimit }),
        ...(effort !== null && {
          providerOptions: { openaiCompatible: { reasoningEffort: effort } },
        }),
      };
  }
}

const withThoughts = { includeThoughts: true };
const adaptiveThinking = { type: "adaptive", display: "summarized" };

/** The output limit is subtracted from the window: compaction leaves room for exactly this. */
function answerTokenLimit({ window, output }: ModelFacts): number {
  return Math.min(output, Math.max(4_096, Math.floor(window * 0.15)));
}

/** Of an answer that broke off nothing was reported, and it was paid for all the same. */
function usageOfEnd(reader: ProviderStreamReader, { messages, tools }: ModelRequest) {
  if (reader.finish !== null) return reader.usage;
  return reader.estimateUsage(JSON.stringify([messages, tools]));
}

function* usageEvents(
  { facts }: ProviderModelDeps,
  usage: ModelUsage | null,
): Generator<ModelEvent> {
  if (usage === null) return;
  const cost = facts.price && { costMicros: costOf(usage, facts.price) };
  yield { kind: "usage", usage: { ...usage, ...cost } };
}

function finishFailure(
  { account }: ProviderModelDeps,
  { finish }: ProviderStreamReader,
  doneMarker: "seen" | "missing",
): ModelFailure | null {
  const title = providerInfo[account.provider].title;
  const reason = finish?.finishReason;
  switch (reason?.unified) {
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
      if (reason?.raw !== undefined) return failedReasons[reason.raw]?.(title) ?? null;
      // Some servers send no finish reason; a cut connection does not send the done marker either.
      if (doneMarker === "seen") return null;
      return {
        class: "retryable",
        code: "model_cut",
        message: `The connection to ${title} was cut before the answer was complete.`,
      };
  }
}

/** Any other reason, even an unknown one, ends the answer with the output so far. */
const failedReasons: Readonly<Record<string, (title: string) => ModelFailure>> = {
  error: (title) => ({
    class: "retryable",
    code: "model_cut",
    message: `${title} failed before the answer was complete.`,
  }),
  MALFORMED_FUNCTION_CALL: (title) => ({
    class: "retryable",
    code: "model_garbled",
    message: `${title} could not read the tool call that its model made.`,
  }),
};

function describeError(
  { account, id, redact = (text) => text }: ProviderModelDeps,
  error: unknown,
) {
  return classifyFailure(error, {
    provider: providerInfo[account.provider].title,
    model: id,
    setupHint: setupHint(account.provider),
    redact: (text) =>
      redact(account.key === null ? text : text.replaceAll(account.key, "[redacted]")),
    now: Date.now,
  });
}
