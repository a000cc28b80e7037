import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { readToEnd } from "@holdfast/testing/fakes/scripted-model";
import type { Json } from "@holdfast/protocol";
import { describe, expect, onTestFinished, test } from "vitest";

import { anthropicFrames, chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import {
  failureIn,
  openServerWith,
  openWire as open,
  requestOf,
  textIn,
  unaborted,
  user,
  type Wire,
  wires,
} from "../../../test/support/providers/provider-rig.ts";
import {
  type ProviderServer,
  refuses,
  type ServerAnswer,
} from "@holdfast/testing/host/providers/provider-server";
import type { ProviderModelDeps } from "./provider-model.ts";

async function serve(...answers: readonly ServerAnswer[]): Promise<ProviderServer> {
  const server = await openServerWith(answers);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

const [anthropic, openai, chat, compatible, ollama] = wires as [Wire, Wire, Wire, Wire, Wire];

async function failureOf(wire: Wire, answer: ServerAnswer, rest: Partial<ProviderModelDeps> = {}) {
  const server = await serve(answer);
  const events = await readToEnd(
    open(wire, server, rest).stream(requestOf(user("Hi")), unaborted()),
  );
  return failureIn(events);
}

/** Accepts connections and never answers. */
async function serveNobody(): Promise<{ readonly url: string }> {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const anthropicError = (type: string, message: string): Json => ({
  type: "error",
  error: { type, message },
});
const openaiError = (code: string | null, message: string): Json => ({
  error: { message, type: "invalid_request_error", param: null, code },
});

describe.each(wires)("$title", (wire) => {
  test.each([
    [401, "auth", "model_unauthorized"],
    [403, "auth", "model_unauthorized"],
    [402, "auth", "model_no_credit"],
    [404, "fatal", "model_unknown"],
    [400, "fatal", "model_refused_request"],
    [413, "overflow", "model_overflow"],
    [429, "overloaded", "model_overloaded"],
    [529, "overloaded", "model_overloaded"],
    [408, "retryable", "model_unavailable"],
    [500, "retryable", "model_unavailable"],
    [502, "retryable", "model_unavailable"],
    [503, "retryable", "model_unavailable"],
  ] as const)("status %i is %s, whatever the body", async (status, kind, code) => {
    expect(await failureOf(wire, refuses(status, openaiError(null, "No.")))).toMatchObject({
      class: kind,
      code,
    });
    const page = { status, headers: { "content-type": "text/html" }, frames: ["<html>No</html>"] };
    expect(await failureOf(wire, page)).toMatchObject({ class: kind, code });
  });

  test("a key problem is one sentence, and what to do about it another", async () => {
    const failure = await failureOf(wire, refuses(401, openaiError(null, "Incorrect key")));
    expect(failure?.message).toMatch(/does not take the key: [\w ]+\. \S/);
  });

  test.each([
    [{ "retry-after": "7" }, 7_000],
    [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
  ])("a retry waits as %j says", async (headers, ms) => {
    const answer = refuses(429, openaiError(null, "Slow down."), headers);
    expect(await failureOf(wire, answer)).toMatchObject({ class: "overloaded", retryAfterMs: ms });
  });

  test("a refused connection, a truncated answer and garbage are retryable", async () => {
    expect(await failureOf(wire, { cut: true })).toMatchObject({
      class: "retryable",
      code: "model_unreachable",
    });
    const frames = ["data: {not json\n\n", "data: {not json\n\n"];
    expect(await failureOf(wire, { frames })).toMatchObject({ class: "retryable" });
    const page = { headers: { "content-type": "text/html" }, frames: ["<html>Welcome</html>"] };
    expect(await failureOf(wire, page)).toMatchObject({ class: "retryable" });
  });

  test("a provider that is silent for too long, before or during its answer, times out", async () => {
    const limits = { answerMs: 10_000, silenceMs: 40, bytes: 1_000_000 };
    const frames = wire.frames([{ text: "Good day." }]).slice(0, 3);
    expect(await failureOf(wire, { frames, ending: "hang" }, { limits })).toMatchObject({
      class: "retryable",
      code: "model_silent",
    });
    const nothing = { frames: [], ending: "hang" } as const;
    expect(await failureOf(wire, nothing, { limits })).toMatchObject({ code: "model_silent" });
    const server = await serveNobody();
    const strict = { ...limits, answerMs: 40, silenceMs: 10_000 };
    const stream = open(wire, server, { limits: strict }).stream(
      requestOf(user("Hi")),
      unaborted(),
    );
    expect(failureIn(await readToEnd(stream))).toMatchObject({ code: "model_silent" });
  });

  test("an endless stream is cut off at the size limit", async () => {
    const begin = wire.frames([{ text: "Good day." }]).slice(0, 3);
    async function* endless(): AsyncGenerator<string> {
      yield* begin;
      for (;;) yield `: ${"x".repeat(10_000)}\n`;
    }
    const limits = { answerMs: 5_000, silenceMs: 5_000, bytes: 300_000 };
    expect(await failureOf(wire, { frames: endless() }, { limits })).toMatchObject({
      class: "fatal",
      code: "model_endless",
    });
  });

  test("[safety] redirects are not followed, and the key stays with its origin", async () => {
    const elsewhere = await serve({ frames: wire.frames([{ text: "Thanks." }]) });
    const moved = { status: 307, headers: { location: `${elsewhere.url}/v1` }, frames: [] };
    expect(await failureOf(wire, moved)).not.toBeNull();
    expect(elsewhere.requests).toEqual([]);
  });

  test("a key repeated in an error is redacted", async () => {
    const body = openaiError("invalid_api_key", "Incorrect API key provided: key-1234567890.");
    const failure = await failureOf(wire, refuses(401, body));
    expect(failure?.message).not.toContain("key-1234567890");
    expect(failure?.message).toMatch(/API_KEY|BASE_URL/);
  });
});

describe("an overlong conversation", () => {
  test.each<[Wire, number, Json]>([
    [
      anthropic,
      400,
      anthropicError("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    ],
    [
      anthropic,
      400,
      anthropicError(
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
      ),
    ],
    [anthropic, 413, anthropicError("request_too_large", "Request exceeds the maximum size")],
    [
      openai,
      400,
      openaiError(
        "context_length_exceeded",
        "Your input exceeds the context window of this model.",
      ),
    ],
    [
      chat,
      400,
      openaiError(
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens.",
      ),
    ],
    [
      compatible,
      400,
      openaiError(
        null,
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
      ),
    ],
    [
      compatible,
      400,
      {
        error: {
          code: 400,
          type: "exceed_context_size_error",
          message: "the request exceeds the available context size",
        },
      },
    ],
    [compatible, 400, openaiError(null, "Please reduce the length of the messages or completion.")],
    [
      compatible,
      400,
      openaiError(
        null,
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      ),
    ],
    [ollama, 400, openaiError(null, "input length exceeds maximum context length")],
  ])("is classified as such: %#", async (wire, status, body) => {
    expect(await failureOf(wire, refuses(status, body))).toMatchObject({
      class: "overflow",
      code: "model_overflow",
    });
  });
});

describe("an error within the stream", () => {
  test("has its class, and the text so far is kept", async () => {
    const frames = [
      ...anthropicFrames([{ text: "Good day." }]).slice(0, 4),
      `event: error\ndata: ${JSON.stringify(anthropicError("overloaded_error", "Overloaded"))}\n\n`,
    ];
    const server = await serve({ frames });
    const events = await readToEnd(
      open(anthropic, server).stream(requestOf(user("Hi")), unaborted()),
    );
    expect(failureIn(events)).toMatchObject({ class: "overloaded", code: "model_overloaded" });
    expect(textIn(events)).not.toBe("");
  });

  const failed = (error: Json) =>
    `event: response.failed\ndata: ${JSON.stringify({ type: "response.failed", sequence_number: 9, response: { id: "resp_1", created_at: 1, model: "m", status: "failed", error } })}\n\n`;
  const errorEvent = (code: string, message: string) =>
    `event: error\ndata: ${JSON.stringify({ type: "error", sequence_number: 9, error: { type: code, code, message, param: null } })}\n\n`;
  const chunk = (error: Json) => `data: ${JSON.stringify({ error })}\n\n`;
  test.each([
    [openai, errorEvent("rate_limit_exceeded", "Slow down."), "overloaded"],
    [openai, errorEvent("server_error", "Oops."), "retryable"],
    [openai, errorEvent("context_length_exceeded", "Too long."), "overflow"],
    [openai, failed({ code: "server_error", message: "Oops." }), "retryable"],
    [openai, failed({ code: "rate_limit_exceeded", message: "Slow down." }), "overloaded"],
    [openai, failed({ code: "invalid_prompt", message: "No." }), "refused"],
    [
      compatible,
      chunk({ message: "Overloaded", type: "overloaded_error", code: 529 }),
      "overloaded",
    ],
    [compatible, chunk({ message: "Oops.", type: "server_error", code: 500 }), "retryable"],
  ] as const)("in the middle of an answer has its class: %#", async (wire, frame, kind) => {
    const frames = [...wire.frames([{ text: "Good day." }]).slice(0, 4), frame];
    expect(await failureOf(wire, { frames })).toMatchObject({ class: kind });
    expect(await failureOf(wire, { frames: [frame] })).toMatchObject({ class: kind });
  });

  test.each([
    ["refusal", anthropic, { frames: anthropicFrames([{ text: "I" }], { stop: "refusal" }) }],
    ["filter", compatible, { frames: chatFrames([{ text: "I" }], { stop: "content_filter" }) }],
    ["policy", chat, refuses(400, openaiError("content_policy_violation", "Rejected."))],
  ] as const)("a %s is refused, and is not tried again", async (_name, wire, answer) => {
    expect(await failureOf(wire, answer)).toMatchObject({
      class: "refused",
      code: "model_refused",
    });
  });

  test.each([
    [anthropic, anthropicFrames([{ text: "I" }], { stop: "max_tokens" })],
    [compatible, chatFrames([{ text: "I" }], { stop: "length" })],
  ] as const)("an answer that reached its longest says so", async (wire, frames) => {
    expect(await failureOf(wire, { frames })).toMatchObject({ code: "model_output_limit" });
  });

  test.each([
    [openai, 429, openaiError("insufficient_quota", "You exceeded your current quota.")],
    [anthropic, 400, anthropicError("invalid_request_error", "Your credit balance is too low")],
  ] as const)("no credit is nothing that waiting mends", async (wire, status, body) => {
    expect(await failureOf(wire, refuses(status, body))).toMatchObject({
      class: "auth",
      code: "model_no_credit",
    });
  });

  test("a server that sends no finish reason but the done marker is done", async () => {
    const frames = chatFrames([{ text: "Good day." }]).filter((each) => !each.includes("usage"));
    expect(await failureOf(compatible, { frames })).toBeNull();
  });
});
