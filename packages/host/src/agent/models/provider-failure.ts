import { z } from "zod";
import type { ModelFailure } from "@holdfast/engine";
import { ConnectionFailure } from "./provider-connection.ts";

/** A run waits no longer than this for a provider. */
const maxRetryAfterMs = 10 * 60_000;

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/**
 * The provider's retry delay, from a header in milliseconds or seconds or as a date, from its message, or from a body
 * with Google's `RetryInfo`.
 */
export function retryAfterMs(
  headers: Readonly<Record<string, string>>,
  message: string,
  now: number,
): number | null {
  const wait =
    fromNumber(headers["retry-after-ms"], 1) ??
    fromNumber(headers["retry-after"], 1_000) ??
    fromDate(headers["retry-after"], now) ??
    fromMessage(message);
  return wait === null ? null : Math.min(Math.max(0, Math.ceil(wait)), maxRetryAfterMs);
}

function fromNumber(text: string | undefined, factor: number): number | null {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) * factor : null;
}

function fromDate(text: string | undefined, now: number): number | null {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? null : at - now;
}

function fromMessage(message: string): number | null {
  const match =
    /(?:try again|retry) in (\d+(?:\.\d+)?)\s?(ms|s|m)\b/i.exec(message) ??
    /"retryDelay":\s*"(\d+(?:\.\d+)?)(s)"/.exec(message);
  const unit = units[match?.[2]?.toLowerCase() ?? ""];
  return match === null || unit === undefined ? null : Number(match[1]) * unit;
}

/** The relevant fields of errors that provider packages throw and stream. */
const providerError = z.object({
  name: z.string().optional().catch(undefined),
  message: z.string().catch(""),
  statusCode: z.number().optional().catch(undefined),
  responseHeaders: z.record(z.string(), z.string()).optional().catch(undefined),
  responseBody: z.string().optional().catch(undefined),
  type: z.string().optional().catch(undefined),
  code: z.union([z.string(), z.number()]).optional().catch(undefined),
  data: z.unknown().optional(),
});
type ProviderError = z.infer<typeof providerError>;

/** Each provider words an overlong conversation differently. */
const overflow = [
  /context_length_exceeded|context_window_exceeded|exceed_context_size/i,
  /prompt is too long|prompt too long|input is too long|input too long/i,
  /(?:maximum|max|available|exceeds?[^.]{0,40}|greater than[^.]{0,20}) context (?:length|window|size|limit)/i,
  /exceeds? (?:the )?(?:model'?s? )?context/i,
  /exceeds? the maximum (?:number of tokens|prompt length|input)/i,
  /maximum prompt length is/i,
  /reduce the length of the (?:messages|prompt|input)/i,
  /request_too_large|request exceeds the maximum size/i,
  /tokens \+ `?max_new_tokens`? must be/i,
];
const noCredit =
  /insufficient_quota|exceeded your current quota|credit balance is too low|billing|payment required/i;
/** For a 429 only these count: rate limits mention quotas and billing pages too, but pass by themselves. */
const noCreditInRateLimit =
  /insufficient_quota|insufficient.balance|exceeded_current_quota_error|billing_(?:hard_limit|not_active|error)|credit balance is too low|credits? (?:is |are )?depleted|used all available credits|monthly spending limit/i;
/** Google reports this as an otherwise valid request. */
const badKey = /API_KEY_INVALID|API key not valid|API key expired/i;
const moderated = /moderation|flagged_input/i;
const refused =
  /content_policy_violation|content_filter|content management policy|responsible ai|invalid_prompt|flagged/i;
const overloaded = /overloaded|rate.?limit|too many requests|capacity|slow_down/i;
/** What Ollama, OpenRouter and vLLM say when a model does not support tools. */
const toolsRefused =
  /does not support tools|support tool use|tools? (?:calling |use )?(?:is|are) not supported|enable-auto-tool-choice/i;
/** OpenAI shows thoughts of some models to verified organisations alone. */
const summaryRefused = /reasoning[._ ]summar/i;
/** Earlier reasoning is refused after a change of key, model or prefix. */
const reasoningRefused =
  /invalid_encrypted_content|encrypted content|`?signature`?|thinking.{0,40}block|reasoning_content|of type 'reasoning'/i;

const maxMessageLength = 600;
/** The rest of an error's body is not read. */
const maxBodyLength = 20_000;

/** Classifies an error by what can be done about it. Never throws, and repeats no key. */
export function classifyFailure(error: unknown, context: FailureContext): ModelFailure {
  const failure = classify(error, context);
  return { ...failure, message: context.redact(failure.message).slice(0, maxMessageLength) };
}

export interface FailureContext {
  /** Like "Anthropic". */
  readonly provider: string;
  readonly model: string;
  /** What a person can do without a valid key. */
  readonly setupHint: string;
  readonly redact: (text: string) => string;
  readonly now: () => number;
}

export function isReasoningRefused(error: unknown): boolean {
  const parsed = readError(error);
  return parsed.statusCode === 400 && reasoningRefused.test(messageOf(parsed));
}

export function isSummaryRefused(error: unknown): boolean {
  const parsed = readError(error);
  return [400, 403].includes(parsed.statusCode ?? 0) && summaryRefused.test(messageOf(parsed));
}

export function isToolsRefused(error: unknown): boolean {
  const parsed = readError(error);
  return [400, 404, 501].includes(parsed.statusCode ?? 0) && toolsRefused.test(messageOf(parsed));
}

function classify(error: unknown, context: FailureContext): ModelFailure {
  if (error instanceof ConnectionFailure) {
    const retry = error.code === "model_silent" ? "retryable" : "fatal";
    return { class: retry, code: error.code, message: error.message };
  }
  const parsed = readError(error);
  // A truncated answer has a success status too.
  const status = (parsed.statusCode ?? 0) >= 400 ? parsed.statusCode : statusOf(parsed);
  const fullText = messageOf(parsed);
  if (status === undefined) return withoutStatus(parsed, fullText, context);
  const { provider } = context;
  const sentence = asSentence(parsed.message || `It answered with status ${status}`);
  if (overflow.some((pattern) => pattern.test(fullText)) && status < 500 && status !== 429)
    return { class: "overflow", code: "model_overflow", message: sentence };
  if (isNoCredit(status, fullText))
    return {
      class: "auth",
      code: "model_no_credit",
      message: `${provider} has no credit left for this key: ${sentence}`,
    };
  if (status === 403 && (moderated.test(fullText) || refused.test(fullText)))
    return { class: "refused", code: "model_refused", message: sentence };
  if (status === 401 || status === 403 || (status === 400 && badKey.test(fullText)))
    return {
      class: "auth",
      code: "model_unauthorized",
      message: `API key rejected by ${provider}: ${sentence} ${context.setupHint}`,
    };
  if (status === 429 || status === 529 || (status === 503 && overloaded.test(fullText)))
    return {
      ...retryIn(parsed, context),
      class: "overloaded",
      code: "model_overloaded",
      message: sentence,
    };
  if (status === 413) return { class: "overflow", code: "model_overflow", message: sentence };
  if (status === 408 || status === 409 || status >= 500)
    return {
      ...retryIn(parsed, context),
      class: "retryable",
      code: "model_unavailable",
      message: sentence,
    };
  if (status === 404)
    return {
      class: "fatal",
      code: "model_unknown",
      message: `${provider} has no model ${context.model}, or does not serve this address: ${sentence}`,
    };
  if (refused.test(fullText)) return { class: "refused", code: "model_refused", message: sentence };
  return {
    class: "fatal",
    code: "model_refused_request",
    message: `${provider} does not take the request: ${sentence}`,
  };
}

function isNoCredit(status: number, fullText: string): boolean {
  if (status === 429) return noCreditInRateLimit.test(fullText);
  return status === 402 || (status < 500 && noCredit.test(fullText));
}

/** Provider messages come before ours and often lack a full stop. */
function asSentence(text: string): string {
  return /[.!?…]["'”’)\]]*\s*$/.test(text) ? text : `${text}.`;
}

const malformedResponse = /AI_(?:TypeValidation|JSONParse|InvalidResponseData|NoContentGenerated)/;

function withoutStatus(
  parsed: ProviderError,
  fullText: string,
  context: FailureContext,
): ModelFailure {
  const { provider } = context;
  if (overflow.some((pattern) => pattern.test(fullText)))
    return { class: "overflow", code: "model_overflow", message: parsed.message };
  if (malformedResponse.test(parsed.name ?? ""))
    return {
      class: "retryable",
      code: "model_garbled",
      message: `${provider} sent something that is no answer.`,
    };
  if (overloaded.test(fullText))
    return { class: "overloaded", code: "model_overloaded", message: parsed.message };
  const network = parsed.statusCode === undefined && isNetwork(parsed);
  return {
    class: "retryable",
    code: network ? "model_unreachable" : "model_cut",
    message: `The connection to ${provider} failed: ${parsed.message}`,
  };
}

function isNetwork({ name, message, code }: ProviderError): boolean {
  if (name === "AI_APICallError") return true;
  return /fetch failed|cannot connect/i.test(message) || /^E[A-Z]+$/.test(String(code ?? ""));
}

/** Stream errors have a type or a code instead of a status. */
function statusOf({ type, code, data }: ProviderError): number | undefined {
  if (Number(code) >= 400 && Number(code) < 600) return Number(code);
  const typeText = `${type ?? ""} ${code ?? ""} ${nestedType(data)}`;
  if (/overloaded_error/.test(typeText)) return 529;
  if (/rate_limit/.test(typeText)) return 429;
  if (/authentication_error|invalid_api_key/.test(typeText)) return 401;
  if (/permission_error/.test(typeText)) return 403;
  if (/not_found_error/.test(typeText)) return 404;
  if (/invalid_request_error|context_length|invalid_prompt/.test(typeText)) return 400;
  if (/api_error|server_error|internal/.test(typeText)) return 500;
  return undefined;
}

const nested = z.object({ error: z.object({ type: z.string().catch(""), code: z.unknown() }) });

function nestedType(data: unknown): string {
  const nestedError = nested.safeParse(data).data?.error;
  return nestedError === undefined
    ? ""
    : `${nestedError.type} ${JSON.stringify(nestedError.code) ?? ""}`;
}

function readError(error: unknown): ProviderError {
  const parsed = providerError.safeParse(error);
  if (parsed.success) return parsed.data;
  return { message: typeof error === "string" ? error : "an unknown error", data: undefined };
}

function messageOf({
  message,
  responseBody = "",
  type = "",
  code = "",
  data,
}: ProviderError): string {
  return `${message}\n${responseBody.slice(0, maxBodyLength)}\n${type} ${code} ${nestedType(data)}`;
}

function retryIn(
  { responseHeaders = {}, message, responseBody = "" }: ProviderError,
  { now }: FailureContext,
): Pick<ModelFailure, "retryAfterMs"> {
  const text = `${message}\n${responseBody.slice(0, maxBodyLength)}`;
  const ms = retryAfterMs(responseHeaders, text, now());
  return ms === null ? {} : { retryAfterMs: ms };
}
