import type { ModelEvent, ModelMessage } from "@holdfast/engine";
import { readToEnd } from "@holdfast/testing/fakes/scripted-model";
import { type Json, ids } from "@holdfast/protocol";
import { describe, expect, onTestFinished, test } from "vitest";

import { factsOf } from "./model-info.ts";
import { anthropicFrames, openaiFrames } from "@holdfast/testing/host/providers/provider-frames";
import {
  failureIn,
  nextMessages,
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

async function serve(...answers: readonly ServerAnswer[]): Promise<ProviderServer> {
  const server = await openServerWith(answers);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

const [anthropic, openai] = wires as [Wire, Wire];
const done = { text: "Done." };

describe("reasoning", () => {
  test.each(wires)("of another model, or truncated, is not sent to $title", async (wire) => {
    const server = await serve({ frames: wire.frames([done]) });
    const parts = [
      { kind: "reasoning", text: "Foreign", opaque: { by: "x/y", options: { itemId: "rs_9" } } },
      { kind: "reasoning", text: "Unsigned" },
      { kind: "text", text: "Yes.", opaque: { by: "x/y", options: { phase: "commentary" } } },
    ] as const;
    const messages: ModelMessage[] = [user("Hi"), { role: "assistant", parts }, user("Go on")];
    const events = await readToEnd(open(wire, server).stream(requestOf(...messages), unaborted()));
    expect(failureIn(events)).toBeNull();
    const sent = JSON.stringify(server.requests[0]?.body);
    expect(sent).not.toMatch(/Foreign|Unsigned|rs_9|commentary/);
    expect(sent).toContain("Yes.");
  });

  test("that the provider refuses is left out, at once and from then on", async () => {
    const frames = anthropic.frames([{ thought: "Hm.", signature: "old" }, done]);
    const server = await serve(
      { frames },
      refuses(400, {
        type: "error",
        error: {
          type: "invalid_request_error",
          message: "Invalid `signature` in `thinking` block",
        },
      }),
      { frames },
      { frames },
    );
    const model = open(anthropic, server, { withoutReasoning: new Set() });
    const first = await readToEnd(model.stream(requestOf(user("Hi")), unaborted()));
    const next = requestOf(user("Hi"), ...nextMessages(first), user("Go on"));
    const second = await readToEnd(model.stream(next, unaborted()));
    expect(textIn(second)).toBe("Done.");
    await readToEnd(model.stream(next, unaborted()));
    const bodies = server.requests.map(({ body }) => JSON.stringify(body));
    expect(bodies.map((body) => body.includes('"signature":"old"'))).toEqual([
      false,
      true,
      false,
      false,
    ]);
  });
});

describe("summaries of thoughts", () => {
  const refusal = refuses(400, {
    error: {
      message: "Your organization must be verified to generate reasoning summaries.",
      type: "invalid_request_error",
      param: "reasoning.summary",
      code: "unsupported_value",
    },
  });

  test.each([null, "high"] as const)(
    "that OpenAI refuses are not asked for again, with the effort %s",
    async (effort) => {
      const frames = openai.frames([done]);
      const server = await serve(refusal, { frames }, { frames });
      const model = open(openai, server, { withoutSummaries: new Set(), effort });
      for (const text of ["Hi", "Again"]) {
        const events = await readToEnd(model.stream(requestOf(user(text)), unaborted()));
        expect(textIn(events)).toBe("Done.");
      }
      const asked = server.requests.map(({ body }) => JSON.stringify(body).includes('"summary"'));
      expect(asked).toEqual([true, false, false]);
    },
  );

  test("a refusal of something else is told", async () => {
    const server = await serve(
      refuses(400, { error: { message: "No.", type: "invalid_request_error", code: "other" } }),
    );
    const events = await readToEnd(open(openai, server).stream(requestOf(user("Hi")), unaborted()));
    expect(failureIn(events)).toMatchObject({ class: "fatal" });
    expect(server.requests).toHaveLength(1);
  });
});

test("the input of an answer that is stopped right after its start is known", async () => {
  const frames = anthropic.frames([{ text: "One two three." }]);
  const words = frames.findIndex((frame) => frame.includes("text_delta"));
  const server = await serve({ frames: frames.slice(0, words + 1), ending: "hang" });
  const stop = new AbortController();
  const events: ModelEvent[] = [];
  for await (const event of open(anthropic, server).stream(requestOf(user("Hi")), stop.signal)) {
    events.push(event);
    if (event.kind === "text") stop.abort();
  }
  expect(events.map(({ kind }) => kind)).toEqual(["usage", "text"]);
  expect(events[0]).toMatchObject({ usage: { output: 0 } });
});

describe("the provider's cache", () => {
  test("Anthropic's marks follow the tools, the frame and the newest two turns, four at most", async () => {
    const frames = anthropic.frames([done]);
    const server = await serve({ frames }, { frames });
    const model = open(anthropic, server);
    const answer: ModelMessage = { role: "assistant", parts: [{ kind: "text", text: "Yes." }] };
    const call = ids.make("call");
    const asking: ModelMessage = {
      role: "assistant",
      parts: [{ kind: "call", callId: call, name: "look", input: {} }],
    };
    const result: ModelMessage = { role: "tool", callId: call, name: "look", output: "seen" };
    const before = [user("One"), answer, user("Two"), answer, user("Three")];
    await readToEnd(model.stream(requestOf(...before), unaborted()));
    await readToEnd(model.stream(requestOf(...before, asking, result), unaborted()));
    expect(server.requests.map(({ body }) => marksIn(body))).toEqual([
      ["tools.1", "system.0", "messages.2", "messages.4"],
      ["tools.1", "system.0", "messages.4", "messages.6"],
    ]);
  });

  test("cache reads and writes are counted and priced separately", async () => {
    const cached = await serve({
      frames: anthropicFrames([done], { cacheRead: 1000, cacheWrite: 100 }),
    });
    const events = await readToEnd(
      open(anthropic, cached).stream(requestOf(user("Hi")), unaborted()),
    );
    const costMicros = Math.ceil(10 * 2 + 1000 * 0.2 + 100 * 2.5 + 7 * 10);
    expect(usageIn(events)).toEqual({
      input: 1110,
      output: 7,
      cacheRead: 1000,
      cacheWrite: 100,
      costMicros,
    });
    const server = await serve({ frames: openaiFrames([done], { cacheRead: 1000 }) });
    const others = await readToEnd(open(openai, server).stream(requestOf(user("Hi")), unaborted()));
    expect(usageIn(others)).toMatchObject({ input: 1010, cacheRead: 1000 });
  });
});

describe("images", () => {
  test("a model gets the media types it accepts, and the names of others", async () => {
    const frames = anthropic.frames([done]);
    const server = await serve({ frames }, { frames });
    const bytes = new Uint8Array([137, 80, 78, 71]);
    const seen = ids.make("session");
    const message = {
      role: "user",
      text: "Look",
      images: [
        { blobId: "blob_a" as never, mediaType: "image/png" },
        { blobId: "blob_b" as never, mediaType: "image/tiff" },
      ],
    } as const;
    const image = async () => bytes;
    const request = { ...requestOf(message), session: seen };
    await readToEnd(open(anthropic, server, { file: image }).stream(request, unaborted()));
    const blind = open(anthropic, server, {
      file: image,
      facts: { window: 9_000, output: 900, takes: [] },
    });
    await readToEnd(blind.stream(request, unaborted()));
    const [first, second] = server.requests.map(({ body }) => JSON.stringify(body));
    const data = Buffer.from(bytes).toString("base64");
    expect(first?.match(/"type":"image"/g)).toHaveLength(1);
    expect(first).toContain(data);
    expect(second).not.toContain(data);
  });

  test("a model about which nothing is known gets them, so that its server can refuse them itself", async () => {
    const server = await serve({ frames: openaiFrames([done]) });
    const message = {
      role: "user",
      text: "Look",
      images: [{ blobId: "blob_a" as never, mediaType: "image/png" }],
    } as const;
    const bytes = new Uint8Array([137, 80, 78, 71]);
    const facts = factsOf("openai-compatible/new");
    const model = open(openai, server, { file: async () => bytes, facts });
    await readToEnd(model.stream(requestOf(message), unaborted()));
    expect(JSON.stringify(server.requests[0]?.body)).toContain(
      Buffer.from(bytes).toString("base64"),
    );
  });
});

function usageIn(events: readonly ModelEvent[]) {
  return events.findLast((event) => event.kind === "usage")?.usage;
}

/** Where cache marks are, by path in the request. */
function marksIn(body: Json): string[] {
  const places = ["tools", "system", "messages"] as const;
  const named = body as Record<(typeof places)[number], unknown[]>;
  return places.flatMap((place) =>
    named[place].flatMap((each, index) =>
      JSON.stringify(each).includes("cache_control") ? [`${place}.${index}`] : [],
    ),
  );
}
