import type { ModelEvent, ModelMessage } from "@holdfast/engine";
import { readToEnd } from "@holdfast/testing/fakes/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";

import {
  failureIn,
  nextMessages,
  openServerWith,
  openWire as open,
  requestOf,
  textIn,
  unaborted,
  user,
  wires,
  withoutMarks,
} from "../../../test/support/providers/provider-rig.ts";
import {
  type ProviderServer,
  type ServerAnswer,
} from "@holdfast/testing/host/providers/provider-server";
import { type Said } from "@holdfast/testing/host/providers/provider-frames";

async function serve(...answers: readonly ServerAnswer[]): Promise<ProviderServer> {
  const server = await openServerWith(answers);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

describe.each(wires)("$title", (wire) => {
  test("text is streamed in chunks, and usage is reported at the end", async () => {
    const server = await serve({ frames: wire.frames([{ text: "Good day." }]) });
    const events = await readToEnd(open(wire, server).stream(requestOf(user("Hi")), unaborted()));
    expect(events.filter(({ kind }) => kind === "text").length).toBeGreaterThan(1);
    expect(textIn(events)).toBe("Good day.");
    expect(events.at(-1)).toMatchObject({
      kind: "usage",
      usage: { input: 10, output: 7, costMicros: 10 * 2 + 7 * 10 },
    });
    const [request] = server.requests;
    const { headers = {}, path = "", body } = request ?? {};
    const key = headers["authorization"] ?? headers["x-api-key"] ?? headers["x-goog-api-key"];
    expect(key).toMatch(/key-123/);
    expect(`${path} ${JSON.stringify(body)}`).toMatch(wire.asks);
  });

  test("parallel calls keep their order, and their results go back under their ids", async () => {
    const said: Said[] = [
      { text: "I look." },
      { call: "look", id: "call_a", input: '{"at":1}' },
      { call: "look", id: "call_b", input: '{"at":2}' },
    ];
    const server = await serve(
      { frames: wire.frames(said) },
      { frames: wire.frames([{ text: "Done." }]) },
    );
    const model = open(wire, server);
    const first = await readToEnd(model.stream(requestOf(user("Look")), unaborted()));
    expect(first.filter(({ kind }) => kind === "call")).toMatchObject([
      { name: "look", input: { at: 1 } },
      { name: "look", input: { at: 2 } },
    ]);
    const request = requestOf(user("Look"), ...nextMessages(first));
    expect(failureIn(await readToEnd(model.stream(request, unaborted())))).toBeNull();
    const sent = JSON.stringify(server.requests[1]?.body);
    const asked = [
      ...sent.matchAll(/"(?:call_id|tool_use_id|tool_call_id|functionCall":{"id)":"([^"]+)"/g),
    ];
    expect(new Set(asked.map(([, id]) => id)).size).toBe(2);
    expect(sent.match(/seen/g)).toHaveLength(2);
  });

  test("an earlier prefix stays byte-identical but for the cache marks", async () => {
    const said: Said[] = [{ text: "I look." }, { call: "look", id: "call_a", input: '{"at":1}' }];
    const frames = wire.frames(said);
    const server = await serve({ frames }, { frames }, { frames });
    const model = open(wire, server);
    let messages: ModelMessage[] = [user("Look")];
    for (let turn = 0; turn < 3; turn += 1) {
      const events = await readToEnd(model.stream(requestOf(...messages), unaborted()));
      messages = [...messages, ...nextMessages(events), user(`And then ${turn}?`)];
    }
    const sent = server.requests.map(({ body }) => withoutMarks(body));
    for (const [index, next] of sent.slice(1).entries()) {
      const before = sent[index];
      expect(next.head).toBe(before?.head);
      expect(next.messages.slice(0, before?.messages.length)).toEqual(before?.messages);
    }
  });

  test("a connection cut anywhere keeps the text so far and is retryable", async () => {
    const said: Said[] = [{ text: "Good day." }, { call: "look", id: "call_a", input: "{}" }];
    const frames = wire.frames(said);
    const ends = frames.findLastIndex((frame) =>
      /message_stop|response.completed|usage/.test(frame),
    );
    for (let count = 0; count <= ends; count += 1) {
      const server = await serve({ frames: frames.slice(0, count), ending: "cut" });
      const events = await readToEnd(open(wire, server).stream(requestOf(user("Hi")), unaborted()));
      expect(failureIn(events), `after ${count} frames`).toMatchObject({ class: "retryable" });
      expect("Good day.".startsWith(textIn(events))).toBe(true);
      const quiet = await serve({ frames: frames.slice(0, count), ending: "end" });
      const ended = await readToEnd(open(wire, quiet).stream(requestOf(user("Hi")), unaborted()));
      expect(failureIn(ended), `ended after ${count}`).toMatchObject({ class: "retryable" });
    }
  });

  test("an abort closes the connection and ends the stream without a failure", async () => {
    const [first = "", second = "", third = ""] = wire.frames([{ text: "Good day." }]);
    const server = await serve({
      frames: [first, second, third, ...wire.frames([{ text: "x" }]).slice(1, 4)],
      ending: "hang",
    });
    const abort = new AbortController();
    const events: ModelEvent[] = [];
    for await (const event of open(wire, server).stream(requestOf(user("Hi")), abort.signal)) {
      events.push(event);
      abort.abort();
    }
    await server.requests[0]?.closed;
    expect(failureIn(events)).toBeNull();
    expect(events.length).toBeGreaterThan(0);
  });

  test("a consumer that stops early leaves no connection behind", async () => {
    const frames = wire.frames([{ text: "Good day. And more of it." }]).slice(0, -2);
    const server = await serve({ frames, ending: "hang" });
    for await (const event of open(wire, server).stream(requestOf(user("Hi")), unaborted()))
      if (event.kind === "text") break;
    await server.requests[0]?.closed;
    expect(server.requests).toHaveLength(1);
  });

  test("a chunk of two million characters arrives whole, split into storable pieces", async () => {
    const text = "\ud83d\ude00 word".repeat(300_000);
    const server = await serve({ frames: wire.frames([{ text }]) });
    const events = await readToEnd(open(wire, server).stream(requestOf(user("Hi")), unaborted()));
    expect(textIn(events) === text).toBe(true);
    const longest = events.reduce(
      (most, e) => Math.max(most, e.kind === "text" ? e.text.length : 0),
      0,
    );
    expect(longest).toBeLessThanOrEqual(32_000);
    expect(events.every((e) => e.kind !== "text" || e.text.isWellFormed())).toBe(true);
  });
});

describe.each(wires.filter(({ inputs }) => inputs !== "objects"))("$title", (wire) => {
  test("arguments that are no object reach the engine as malformed and the provider as an object", async () => {
    const said: Said[] = [
      { call: "look", id: "call_a", input: '{"at": ' },
      { call: "look", id: "call_b", input: '"ls"' },
    ];
    const server = await serve(
      { frames: wire.frames(said) },
      { frames: wire.frames([{ text: "." }]) },
    );
    const model = open(wire, server);
    const first = await readToEnd(model.stream(requestOf(user("Look")), unaborted()));
    expect(first.filter(({ kind }) => kind === "call")).toMatchObject([
      { input: '{"at": ', malformed: true },
      { input: '"ls"', malformed: true },
    ]);
    await readToEnd(model.stream(requestOf(user("Look"), ...nextMessages(first)), unaborted()));
    const sent = JSON.stringify(server.requests[1]?.body).replaceAll("\\", "");
    expect(sent).toContain('{"malformed":"');
  });
});
