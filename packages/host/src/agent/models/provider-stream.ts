import type { ModelEvent, ModelUsage } from "@holdfast/engine";
import { type Json, type JsonObject, jsonObject } from "@holdfast/protocol";
import { z } from "zod";

import { ConnectionFailure } from "./provider-connection.ts";
import type { OpaquePart, PromptFormat } from "./provider-prompt.ts";
import type { StreamPart } from "./load-provider.ts";
import { ReasoningDetails } from "./servers/reasoning-details.ts";
import { type TaggedText, ThinkTags } from "./servers/think-tags.ts";
import { estimateTokens } from "./token-counter.ts";

type FinishPart = Extract<StreamPart, { type: "finish" }>;
type Block = { readonly kind: "text" | "reasoning"; options: JsonObject };

/** In characters. A log event holds a bit more. */
const maxDeltaLength = 32_000;
/** In characters: bounds the buffered arguments of one call. */
const maxInputLength = 4_000_000;

/** Turns a provider's stream into engine events and remembers how it ended. */
export class ProviderStreamReader {
  readonly #by: string;
  readonly #options: PromptFormat["options"];
  readonly #names: ReadonlyMap<string, string>;
  readonly #blocks = new Map<string, Block>();
  readonly #inputs = new Map<string, number>();
  #startUsage: ModelUsage | null = null;
  readonly #tags: ThinkTags | null;
  readonly #details = new ReasoningDetails();
  /** All that was streamed, as far as it is needed to estimate its tokens. */
  #streamed = "";
  finish: FinishPart | null = null;
  /** Whether output was emitted that cannot be withdrawn. */
  hasOutput = false;

  constructor(
    { by, options }: Pick<PromptFormat, "by" | "options">,
    names: ReadonlyMap<string, string>,
  ) {
    this.#by = by;
    this.#options = options;
    this.#names = names;
    this.#tags = options === "openaiCompatible" ? new ThinkTags() : null;
  }

  *read(part: StreamPart): Generator<ModelEvent> {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#open(part.type === "text-start" ? "text" : "reasoning", part);
        return;
      case "text-delta":
      case "reasoning-delta": {
        const kind = part.type === "text-delta" ? "text" : "reasoning";
        this.#open(kind, part);
        if (part.delta === "") return;
        this.hasOutput = true;
        this.#count(part.delta);
        yield* this.#tagged(kind, part.delta);
        return;
      }
      case "text-end":
      case "reasoning-end":
        yield* this.#close(part.type === "text-end" ? "text" : "reasoning", part);
        return;
      case "tool-input-delta":
        this.#measure(part.id, part.delta);
        this.#count(part.delta);
        return;
      case "tool-call":
        if (part.providerExecuted) return;
        this.hasOutput = true;
        yield this.#call(part);
        return;
      case "file":
        yield this.#image(part.mediaType, bytesOf(part.data), part.providerMetadata);
        return;
      case "tool-result": {
        // OpenAI's own tool; drafts come before the picture.
        if (part.toolName !== "image_generation" || part.preliminary === true) return;
        const data = generatedImage.safeParse(part.result).data?.result;
        if (data !== undefined) yield this.#image("image/png", Buffer.from(data, "base64"));
        return;
      }
      case "raw":
        this.#details.read(part.rawValue);
        for (const url of imageUrlsIn(part.rawValue)) {
          const [, mediaType = "", data] = dataUrl.exec(url) ?? [];
          const bytes = data === undefined ? null : Buffer.from(data, "base64");
          yield this.#image(mediaType, bytes);
        }
        return;
      case "custom":
        this.#startUsage = usageAtStart(part.providerMetadata) ?? this.#startUsage;
        return;
      case "finish":
        this.finish = part;
        return;
      case "error":
        if (isMissingFinishReason(part.error)) return;
        throw part.error;
      default:
    }
  }

  /** What was held back, once nothing more comes. */
  *end(): Generator<ModelEvent> {
    if (this.#tags !== null) yield* split(this.#tags.end());
    const options = this.#details.take();
    if (Object.keys(options).length > 0)
      yield { kind: "reasoning", text: "", opaque: this.#opaque({ options }) };
  }

  /** As far as reported. */
  get usage(): ModelUsage | null {
    return this.finish === null ? this.#startUsage : usageOf(this.finish);
  }

  /** Of an answer that broke off: what was reported at its start, and an estimate of the rest. */
  estimateUsage(request: string): ModelUsage | null {
    if (!this.hasOutput && this.#startUsage === null) return null;
    const { input = estimateTokens(request), ...rest } = this.#startUsage ?? {};
    return { ...rest, input, output: estimateTokens(this.#streamed), estimated: true };
  }

  *#tagged(kind: Block["kind"], delta: string): Generator<ModelEvent> {
    if (kind === "reasoning") this.#tags?.expectNone();
    const pieces = kind === "text" && this.#tags !== null ? this.#tags.push(delta) : null;
    yield* split(pieces ?? [{ kind, text: delta }]);
  }

  #count(delta: string): void {
    if (this.#streamed.length < maxInputLength) this.#streamed += delta;
  }

  #open(kind: Block["kind"], part: { id: string; providerMetadata?: unknown }): Block {
    const block = this.#blocks.get(part.id) ?? { kind, options: {} };
    block.options = { ...block.options, ...this.#providerOptions(part.providerMetadata) };
    this.#blocks.set(part.id, block);
    return block;
  }

  *#close(
    kind: Block["kind"],
    part: { id: string; providerMetadata?: unknown },
  ): Generator<ModelEvent> {
    const { options } = this.#open(kind, part);
    this.#blocks.delete(part.id);
    if (kind === "text" && this.#tags !== null) yield* split(this.#tags.end());
    const own = kind === "text" ? pick(options, ["phase", "thoughtSignature"]) : options;
    const shown = { ...own, ...this.#details.take() };
    if (kind === "text" && Object.keys(shown).length === 0) return;
    yield { kind, text: "", opaque: this.#opaque({ options: shown }) };
  }

  #image(mediaType: string, bytes: Uint8Array | null, metadata?: unknown): ModelEvent {
    this.hasOutput = true;
    const options = this.#providerOptions(metadata);
    const rest = Object.keys(options).length === 0 ? {} : { options };
    return { kind: "image", mediaType, bytes, opaque: this.#opaque(rest) };
  }

  #call(part: Extract<StreamPart, { type: "tool-call" }>): ModelEvent {
    const name = this.#names.get(part.toolName) ?? part.toolName;
    const options = {
      ...this.#providerOptions(part.providerMetadata),
      ...this.#details.take(),
    };
    const rest = Object.keys(options).length === 0 ? {} : { options };
    const opaque = this.#opaque({ id: part.toolCallId, ...rest });
    const input = parseArguments(part.input);
    if (input === null) return { kind: "call", name, input: part.input, malformed: true, opaque };
    return { kind: "call", name, input, opaque };
  }

  #measure(id: string, delta: string): void {
    const size = (this.#inputs.get(id) ?? 0) + delta.length;
    this.#inputs.set(id, size);
    if (size > maxInputLength)
      throw new ConnectionFailure("model_endless", "The arguments of a call did not end.");
  }

  #opaque(rest: Omit<OpaquePart, "by">): JsonObject {
    return { by: this.#by, ...rest };
  }

  /** Skips `null` values, which must not hide earlier ones. */
  #providerOptions(metadata: unknown): JsonObject {
    const shown = z.object({ [this.#options]: jsonObject }).safeParse(metadata).data;
    const values = Object.entries(shown?.[this.#options] ?? {});
    return Object.fromEntries(values.filter(([, value]) => value !== null && value !== undefined));
  }
}

/** `null` if there is only an address: none is fetched. */
function bytesOf(data: Extract<StreamPart, { type: "file" }>["data"]): Uint8Array | null {
  if (data.type !== "data") return null;
  return typeof data.data === "string" ? Buffer.from(data.data, "base64") : data.data;
}

const generatedImage = z.object({ result: z.string() });
const chunkWithImages = z.object({
  choices: z.array(
    z.object({
      delta: z.object({
        images: z.array(z.object({ image_url: z.object({ url: z.string() }) })),
      }),
    }),
  ),
});
const dataUrl = /^data:([^;,]{1,100});base64,(.*)$/s;

/** Pictures in a chunk of chat completions, as OpenRouter sends them. The package does not know them. */
function imageUrlsIn(chunk: unknown): readonly string[] {
  const { choices = [] } = chunkWithImages.safeParse(chunk).data ?? {};
  return choices.flatMap(({ delta }) => delta.images.map(({ image_url: { url } }) => url));
}

/** Whether such an answer is complete depends on how its connection ended. */
function isMissingFinishReason(error: unknown): boolean {
  return error instanceof Error && /without a finish reason/.test(error.message);
}

function pick(values: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
}

/** `null` if the text is not a JSON object, the only valid form of arguments. */
function parseArguments(text: string): Json | null {
  try {
    return jsonObject.safeParse(JSON.parse(text === "" ? "{}" : text)).data ?? null;
  } catch {
    return null;
  }
}

function* split(pieces: Iterable<TaggedText>): Generator<ModelEvent> {
  for (const { kind, text } of pieces)
    for (const delta of splitDelta(text)) yield { kind, text: delta };
}

function* splitDelta(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + maxDeltaLength);
    // Do not split a surrogate pair.
    if (to < text.length && /[\ud800-\udbff]/.test(text.charAt(to - 1))) to -= 1;
    yield text.slice(from, to);
    from = to;
  }
}

function usageOf({ usage: { inputTokens, outputTokens } }: FinishPart): ModelUsage {
  const { total, noCache, cacheRead, cacheWrite } = inputTokens;
  return {
    input: total ?? (noCache ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0),
    output: outputTokens.total ?? 0,
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheWrite !== undefined && { cacheWrite }),
  };
}

const count = z.number().nonnegative().nullish();
const startMetadata = z.object({
  anthropic: z.object({
    usage: z.object({
      input_tokens: count,
      cache_read_input_tokens: count,
      cache_creation_input_tokens: count,
    }),
  }),
});

/** Anthropic reports the input tokens at the start; of a truncated answer nothing more is known. */
function usageAtStart(metadata: unknown): ModelUsage | null {
  const usage = startMetadata.safeParse(metadata).data?.anthropic.usage;
  if (usage === undefined) return null;
  const cacheRead = usage.cache_read_input_tokens ?? 0;
  const cacheWrite = usage.cache_creation_input_tokens ?? 0;
  const input = (usage.input_tokens ?? 0) + cacheRead + cacheWrite;
  return { input, output: 0, cacheRead, cacheWrite };
}
