import type {
  AssistantPart,
  Model,
  ModelEvent,
  ModelFailure,
  ModelMessage,
  ModelRequest,
} from "@holdfast/engine";
import { type BlobId, type CallId, ids, type Json } from "@holdfast/protocol";
import { type ConnectionLimits } from "../../../src/agent/models/provider-connection.ts";
import {
  createProviderModel,
  type ProviderModelDeps,
} from "../../../src/agent/models/provider-model.ts";
import { type OpenAiApi } from "../../../src/agent/models/load-provider.ts";
import { type Provider } from "../../../src/agent/models/model-info.ts";
import {
  openProviderServer,
  type ProviderServer,
  type ServerAnswer,
} from "@holdfast/testing/host/providers/provider-server";
import {
  anthropicFrames,
  chatFrames,
  googleFrames,
  openaiFrames,
  type Said,
} from "@holdfast/testing/host/providers/provider-frames";

export interface Wire {
  readonly title: string;
  readonly provider: Provider;
  /** Some packages know their own models by name. */
  readonly id?: string;
  readonly api?: OpenAiApi;
  readonly frames: (said: readonly Said[]) => string[];
  /** How its path and body name the model and request streaming. */
  readonly asks: RegExp;
  /** Whether a call's arguments are text, possibly invalid JSON, or always an object. */
  readonly inputs?: "objects";
}

const asks = /"model":"m".*"stream":true/;

export const wires: readonly Wire[] = [
  {
    title: "Anthropic messages",
    provider: "anthropic",
    asks,
    frames: (said) => anthropicFrames(said),
  },
  {
    title: "OpenAI responses",
    provider: "openai",
    id: "gpt-6-sol",
    asks: /"model":"gpt-6-sol".*"stream":true/,
    frames: (said) => openaiFrames(said),
  },
  {
    title: "OpenAI chat",
    provider: "openai",
    api: "chat",
    asks,
    frames: (said) => chatFrames(said),
  },
  {
    title: "compatible chat",
    provider: "openai-compatible",
    asks,
    frames: (said) => chatFrames(said),
  },
  { title: "Ollama", provider: "ollama", asks, frames: (said) => chatFrames(said) },
  {
    title: "Google",
    provider: "google",
    asks: /\/models\/m:streamGenerateContent/,
    frames: (said) => googleFrames(said),
    inputs: "objects",
  },
];

const price = { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 };

const limits: ConnectionLimits = { answerMs: 5_000, silenceMs: 5_000, bytes: 10_000_000 };

export function openWire(
  wire: Wire,
  server: Pick<ProviderServer, "url">,
  rest: Partial<ProviderModelDeps> = {},
): Model {
  const key = "key-1234567890";
  const account = {
    provider: wire.provider,
    baseUrl: `${server.url}/v1`,
    key,
    keyFrom: { from: "stored" } as const,
  };
  return createProviderModel({
    name: `${wire.provider}/m`,
    id: wire.id ?? "m",
    account,
    facts: { window: 100_000, output: 8_000, price, takes: ["images"] },
    ...(wire.api && { api: wire.api }),
    limits,
    ...rest,
  });
}

/** One answer per request, and then none. */
export function openServerWith(answers: readonly ServerAnswer[]): Promise<ProviderServer> {
  return openProviderServer((_request, before) => answers[before] ?? { cut: true });
}

export const user = (text: string): ModelMessage => ({ role: "user", text });
const look = { name: "look", description: "Looks.", input: { type: "object" } };
export const session = ids.make("session");
export const requestOf = (...messages: readonly ModelMessage[]): ModelRequest => ({
  model: "m",
  session,
  messages: [{ role: "system", text: "Be kind." }, ...messages],
  tools: [{ ...look, name: "find" }, look],
});
export const unaborted = () => new AbortController().signal;
export const textIn = (events: readonly ModelEvent[], kind = "text"): string =>
  events.map((event) => (event.kind === kind && "text" in event ? event.text : "")).join("");
export const failureIn = (events: readonly ModelEvent[]): ModelFailure | null => {
  const last = events.at(-1);
  return last?.kind === "failed" ? last.failure : null;
};

const madeBlob = "blob_made" as BlobId;

/** What the engine would send next: the settled answer and the results of its calls. */
export function nextMessages(events: readonly ModelEvent[], output = "seen"): ModelMessage[] {
  const parts: AssistantPart[] = [];
  const results: ModelMessage[] = [];
  let isOpen = false;
  for (const event of events) {
    if (event.kind === "text" || event.kind === "reasoning") {
      const last = isOpen ? parts.at(-1) : undefined;
      const grows = last?.kind === event.kind ? parts.pop() : undefined;
      const text = (grows?.kind === event.kind ? grows.text : "") + event.text;
      parts.push({ ...event, text });
      isOpen = event.opaque === undefined;
    }
    if (event.kind === "image") {
      const { mediaType, opaque } = event;
      parts.push({ kind: "image", blobId: madeBlob, mediaType, ...(opaque && { opaque }) });
      isOpen = false;
    }
    if (event.kind === "call") {
      const callId: CallId = ids.make("call");
      parts.push({ ...event, callId });
      results.push({ role: "tool", callId, name: event.name, output });
    }
  }
  return [{ role: "assistant", parts }, ...results];
}

/** A request in the order in which a provider's cache reads it, without cache marks. */
export function withoutMarks(body: Json): { head: string; messages: unknown[] } {
  const bare = JSON.parse(
    JSON.stringify(body, (key: string, value: unknown) =>
      key === "cache_control" ? undefined : value,
    ),
  ) as Record<string, unknown>;
  const { messages, input, contents, ...head } = bare;
  return { head: JSON.stringify(head), messages: (messages ?? input ?? contents) as unknown[] };
}
