import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { readToEnd } from "@holdfast/testing/fakes/scripted-model";
import type { Json } from "@holdfast/protocol";
import { describe, expect, onTestFinished, test } from "vitest";

import {
  failureIn,
  openServerWith,
  openWire as open,
  requestOf,
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
    expect(failure?.message).toMatch(/API key rejected by [\w -]+: [\w ]+\. \S/);
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
