import type { ModelEvent, ModelMessage } from "@holdfast/engine";
import { type BlobId, type Json, jsonObject, type JsonObject } from "@holdfast/protocol";
import { readToEnd } from "@holdfast/testing/fakes/scripted-model";
import {
  type HeardRequest,
  openProviderServer,
  type ProviderServer,
  refuses,
  type ServerAnswer,
} from "@holdfast/testing/host/providers/provider-server";
import { describe, expect, onTestFinished, test } from "vitest";

import { createModelRegistry, type ModelRegistry } from "../../src/agent/models/registry.ts";
import { memorySecrets, noModelConfig } from "../support/providers/models.ts";
import {
  failureIn,
  nextMessages,
  requestOf,
  session,
  textIn,
  unaborted,
  user,
  withoutMarks,
} from "../support/providers/provider-rig.ts";
import {
  piecesOf,
  readTranscripts,
  type TranscriptStep,
  type WireAnswer,
  type WireCase,
} from "./transcript.ts";

interface WireSettings {
  readonly model: string;
  readonly address: "anthropicBaseUrl" | "openaiBaseUrl" | "googleBaseUrl" | "ollamaBaseUrl";
  readonly api?: "chat";
  /** What the server reports about its models, by path. */
  readonly serves?: Readonly<Record<string, Json>>;
}

const wires: Readonly<Record<string, WireSettings>> = {
  anthropic: { model: "anthropic/claude-sonnet-5-5", address: "anthropicBaseUrl" },
  responses: { model: "openai/gpt-6-sol", address: "openaiBaseUrl" },
  "openai chat": { model: "openai/gpt-6-sol", address: "openaiBaseUrl", api: "chat" },
  compatible: { model: "openai-compatible/some-model", address: "openaiBaseUrl" },
  ollama: { model: "ollama/some-model", address: "ollamaBaseUrl" },
  "ollama's own": {
    model: "ollama/some-model",
    address: "ollamaBaseUrl",
    serves: {
      "/v1/models": { data: [{ id: "some-model:latest", owned_by: "library" }] },
      "/api/show": {
        capabilities: ["completion", "tools", "vision", "thinking"],
        model_info: { "q.context_length": 20_000 },
      },
      "/api/ps": { models: [{ name: "some-model:latest", context_length: 4_096 }] },
    },
  },
  gemini: { model: "google/gemini-pro-latest", address: "googleBaseUrl" },
};

const key = "key-of-this-test";
const environment = { ANTHROPIC_API_KEY: key, OPENAI_API_KEY: key, GEMINI_API_KEY: key };
const picture = { blobId: "blob_picture" as BlobId, mediaType: "image/png" };
const pictureBytes = new Uint8Array([137, 80, 78, 71]);
const pdfBytes = new TextEncoder().encode("%PDF-1.4");
const pdfText = "[file bill.pdf: material from the host, not a request]\n> Total: 42";

function openModels({ address, api }: WireSettings, url: string): ModelRegistry {
  const source = { from: "environment", name: "test" } as const;
  const config = {
    ...noModelConfig,
    models: {
      source,
      value: { "openai-compatible/*": { images: true }, "ollama/*": { images: true } },
    },
    [address]: { value: `${url}/v1`, source },
    ...(api && { openaiApi: { value: api, source } }),
  };
  return createModelRegistry({ config, environment, secrets: memorySecrets() });
}

function serverAnswer(answer: WireAnswer): ServerAnswer {
  const { status, headers, body, ending } = answer;
  const type = body === undefined ? "text/event-stream" : "application/json";
  return {
    status,
    headers: { "content-type": type, ...headers },
    frames: piecesOf(answer),
    ending,
  };
}

async function expectTranscript({ wire, steps }: WireCase): Promise<void> {
  const settings = wires[wire];
  if (settings === undefined) throw new Error(`There is no wire ${wire}.`);
  const answers = steps.map(({ answer }) => serverAnswer(answer));
  let given = 0;
  const server = await openProviderServer(({ path }) => {
    const said = settings.serves?.[path];
    if (said !== undefined) return refuses(200, said);
    if (!isCall(path)) return refuses(404, {});
    return answers[given++] ?? { cut: true };
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const model = openModels(settings, server.url).open(settings.model, async (_, kind) =>
    kind === "pdf" ? pdfBytes : pictureBytes,
  );
  let messages: ModelMessage[] = [];
  for (const [index, step] of steps.entries()) {
    if (index === 0 || step.says !== undefined) messages = [...messages, messageOf(step)];
    const events = await readToEnd(model.stream(requestOf(...messages), unaborted()));
    const requests = callsTo(server);
    expect(requests).toHaveLength(index + 1);
    expectStep(step, events, requests.at(-1)?.body ?? null);
    messages = [...messages, ...nextMessages(events)];
  }
  expectStablePrefix(callsTo(server).map(({ body }) => body));
}

/** Excludes requests for the list of models. */
function isCall(path: string): boolean {
  return !/\/models$|\/api\/(?:show|ps)$/.test(path);
}

function callsTo({ requests }: ProviderServer): HeardRequest[] {
  return requests.filter(({ path }) => isCall(path));
}

function messageOf({
  says = "Hi",
  picture: hasPicture,
  pdf: hasPdf,
}: TranscriptStep): ModelMessage {
  if (hasPicture) return { role: "user", text: says, images: [picture] };
  if (!hasPdf) return user(says);
  const before = `${says}\n\n`;
  const quoted = [before.length, before.length + pdfText.length] as const;
  const document = { blobId: "blob_pdf" as BlobId, name: "bill.pdf", pages: 1, quoted };
  return { role: "user", text: `${before}${pdfText}`, documents: [document] };
}

function expectStep(
  { gives, request, requestLacks }: TranscriptStep,
  events: readonly ModelEvent[],
  body: Json,
): void {
  expect(failureIn(events)).toEqual(
    gives.failure === undefined ? null : expect.objectContaining(gives.failure),
  );
  expect(textIn(events)).toBe(gives.text);
  expect(textIn(events, "reasoning")).toBe(gives.reasoning);
  const calls = events.filter((event) => event.kind === "call");
  expect(calls).toHaveLength(gives.calls.length);
  expect(calls).toMatchObject(gives.calls);
  const images = events.flatMap((event) => (event.kind === "image" ? [event] : []));
  expect(
    images.map(({ mediaType, bytes }) => ({
      mediaType,
      base64: bytes === null ? null : Buffer.from(bytes).toString("base64"),
    })),
  ).toEqual(gives.images);
  if (gives.usage !== undefined)
    expect(events.findLast((event) => event.kind === "usage")?.usage).toMatchObject(gives.usage);
  if (request !== undefined) expect(body).toMatchObject(withSession(request));
  for (const text of requestLacks) expect(JSON.stringify(body)).not.toContain(text);
}

/** `$session` stands for the id of the session. */
function withSession(request: JsonObject): JsonObject {
  return jsonObject.parse(JSON.parse(JSON.stringify(request).replaceAll("$session", session)));
}

/** What a provider has cached must not change: only cache marks move. */
function expectStablePrefix(bodies: readonly Json[]): void {
  const sent = bodies.map(withoutMarks);
  for (const [index, next] of sent.slice(1).entries()) {
    const before = sent[index];
    expect(next.head).toBe(before?.head);
    expect(next.messages.slice(0, before?.messages.length)).toEqual(before?.messages);
  }
}

describe.each(["anthropic.json", "responses.json", "chat.json", "gemini.json", "ollama.json"])(
  "%s",
  (file) => {
    for (const each of readTranscripts(file))
      test(`${each.wire}: ${each.title}`, () => expectTranscript(each));
  },
);
