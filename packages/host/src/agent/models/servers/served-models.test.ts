import type { Json } from "@holdfast/protocol";
import { chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import {
  type HeardRequest,
  openProviderServer,
  refuses,
  type ServerAnswer,
} from "@holdfast/testing/host/providers/provider-server";
import { describe, expect, onTestFinished, test } from "vitest";

import { memorySecrets, noModelConfig } from "../../../../test/support/providers/models.ts";
import { failureIn, textIn } from "../../../../test/support/providers/provider-rig.ts";
import {
  type Answers,
  ask,
  chats,
  compatible,
  ollama,
  openModels,
  openRouter,
  serveModels,
  toolsIn,
} from "../../../../test/support/providers/served-rig.ts";
import { createModelRegistry } from "../registry.ts";

describe("what a server reports about its models", () => {
  test("OpenRouter: window, longest answer, price, pictures and tools", async () => {
    const plain = { id: "maker/plain", context_length: 8_000, supported_parameters: ["seed"] };
    const variable = { id: "auto", pricing: { prompt: "-1", completion: "-1" } };
    const server = await serveModels({ "/v1/models": { data: [openRouter, plain, variable] } });
    const models = openModels(compatible(server));
    await models.listServed();
    expect(models.facts("openai-compatible/maker/large")).toEqual({
      window: 200_000,
      output: 64_000,
      takes: ["images"],
      price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3 },
    });
    expect(models.facts("openai-compatible/maker/plain")).toEqual({
      window: 8_000,
      output: 8_000,
      tools: "none",
    });
    expect(models.facts("openai-compatible/auto")).toEqual({ window: 32_000, output: 8_000 });
  });

  test.each([null, "", " ", true])(
    "a price of %j says nothing, and a spend limit warns of it",
    async (rate) => {
      const data = [{ id: "m", pricing: { prompt: rate, completion: rate } }];
      const server = await serveModels({ "/v1/models": { data } });
      const models = openModels(compatible(server, { spendPerDay: 5 }));
      await models.listServed();
      expect(models.facts("openai-compatible/m").price).toBeUndefined();
      expect(models.warning("openai-compatible/m")).toMatch(/^No price is known/);
    },
  );

  test("a price of 0 is a price, as text and as a number", async () => {
    const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const data = [
      { id: "text", pricing: { prompt: "0", completion: "0" } },
      { id: "number", pricing: { prompt: 0, completion: 0 } },
    ];
    const server = await serveModels({ "/v1/models": { data } });
    const models = openModels(compatible(server));
    await models.listServed();
    expect(models.facts("openai-compatible/text").price).toEqual(free);
    expect(models.facts("openai-compatible/number").price).toEqual(free);
  });

  test("vLLM, Groq and Mistral: the window", async () => {
    const data = [
      { id: "a", owned_by: "vllm", max_model_len: 131_072 },
      { id: "b", context_window: 65_536, max_completion_tokens: 16_384 },
      { id: "c", max_context_length: 12_000 },
      { id: "d", max_model_len: "many" },
      { name: "no id" },
    ];
    const server = await serveModels({ "/v1/models": { data } });
    const models = openModels(compatible(server));
    expect(await models.listServed()).toEqual(
      ["a", "b", "c", "d"].map((id) => `openai-compatible/${id}`),
    );
    const windows = ["a", "b", "c", "d"].map(
      (id) => models.facts(`openai-compatible/${id}`).window,
    );
    expect(windows).toEqual([131_072, 65_536, 12_000, 32_000]);
  });

  test("llama.cpp: the context that it was started with", async () => {
    const data = [{ id: "m.gguf", owned_by: "llamacpp", meta: { n_ctx_train: 131_072 } }];
    const props = { default_generation_settings: { n_ctx: 16_384 }, modalities: { vision: true } };
    const server = await serveModels({ "/v1/models": { data }, "/props": props });
    const models = openModels(compatible(server));
    await models.listServed();
    expect(models.facts("openai-compatible/m.gguf")).toMatchObject({
      window: 16_384,
      takes: ["images"],
    });
  });

  test("LM Studio: the context that is loaded, or at most the model's own", async () => {
    const data = ["loaded", "small", "embed"].map((id) => ({ id, owned_by: "organization_owner" }));
    const described = [
      { id: "loaded", type: "vlm", max_context_length: 131_072, loaded_context_length: 40_960 },
      { id: "small", type: "llm", max_context_length: 8_192 },
      { id: "embed", type: "embeddings", max_context_length: 2_048 },
    ];
    const server = await serveModels({
      "/v1/models": { data },
      "/api/v0/models": { data: described },
    });
    const models = openModels(compatible(server));
    expect(await models.listServed()).toEqual([
      "openai-compatible/loaded",
      "openai-compatible/small",
    ]);
    expect(models.facts("openai-compatible/loaded")).toMatchObject({
      window: 40_960,
      takes: ["images"],
    });
    expect(models.facts("openai-compatible/small")).toMatchObject({ window: 8_192 });
  });

  test("Ollama: the loaded context, the model's setting, its limit, and whether it has tools", async () => {
    const server = await serveModels(ollamaAnswers());
    const models = openModels(ollama(server));
    expect(await models.listServed()).toEqual([
      "ollama/big:latest",
      "ollama/set:8b",
      "ollama/old:2b",
      "ollama/warm:70b",
    ]);
    expect(models.facts("ollama/big")).toMatchObject({ window: 32_000, takes: ["images"] });
    expect(models.facts("ollama/warm:70b")).toMatchObject({ window: 65_536 });
    expect(models.facts("ollama/set:8b")).toMatchObject({ window: 16_384 });
    expect(models.facts("ollama/old:2b")).toMatchObject({ window: 8_192, tools: "none" });
  });

  test("settings override what a server reports", async () => {
    const server = await serveModels({ "/v1/models": { data: [openRouter] } });
    const override = {
      window: 50_000,
      images: false,
      tools: false,
      price: { input: 1, output: 2 },
    };
    const models = openModels(compatible(server, { models: { "openai-compatible/*": override } }));
    await models.listServed();
    expect(models.facts("openai-compatible/maker/large")).toEqual({
      window: 50_000,
      output: 64_000,
      takes: [],
      tools: "none",
      price: { input: 1, output: 2, cacheRead: 1, cacheWrite: 1 },
    });
  });
});

function ollamaAnswers(): Answers {
  const details: Record<string, Json> = {
    "big:latest": {
      capabilities: ["completion", "tools", "vision"],
      model_info: { "general.architecture": "q", "q.context_length": 262_144 },
    },
    "set:8b": {
      capabilities: ["completion", "tools"],
      parameters: 'stop                           "<|end|>"\nnum_ctx                        16384',
      model_info: { "q.context_length": 131_072 },
    },
    "old:2b": { capabilities: ["completion"], model_info: { "g.context_length": 8_192 } },
    "warm:70b": { capabilities: ["completion"], model_info: { "g.context_length": 131_072 } },
    "embed:latest": { capabilities: ["embedding"], model_info: { "b.context_length": 512 } },
  };
  return {
    "/v1/models": { data: Object.keys(details).map((id) => ({ id, owned_by: "library" })) },
    "/api/show": ({ body }) => details[(body as { model: string }).model] ?? null,
    "/api/chat": { frames: ['{"message":{"content":"Good day."},"done":true}\n'] },
    "/api/ps": {
      models: [
        { name: "big:latest", context_length: 4_096 },
        { name: "warm:70b", context_length: 65_536 },
      ],
    },
  };
}

describe("a list of models", () => {
  const long = (count: number, bytes: number) =>
    Array.from({ length: count }, (_, index) => ({
      id: `m-${index}`,
      context_length: 50_000 + index,
      description: "x".repeat(bytes),
    }));

  test("with several megabytes and thousands of models is read in full", async () => {
    const server = await serveModels({ "/v1/models": { data: long(2_500, 2_000) } });
    const models = openModels(compatible(server));
    expect(await models.listServed()).toHaveLength(2_500);
    expect(models.facts("openai-compatible/m-2499").window).toBe(52_499);
  });

  test("larger than 16 MiB is not read", async () => {
    const server = await serveModels({ "/v1/models": { data: long(20, 1024 * 1024) } });
    expect(await openModels(compatible(server)).listServed()).toEqual([]);
  });

  test.each([
    ["/props", "llamacpp"],
    ["/api/v0/models", "organization_owner"],
  ])("stays when the server answers nonsense at %s", async (path, owner) => {
    const data = [{ id: "m", owned_by: owner, context_length: 50_000 }];
    // LM Studio answers every path with 200, also those it does not know.
    const nonsense = { data: null, default_generation_settings: 7, error: "Unexpected endpoint" };
    for (const answer of [nonsense, null, "no"]) {
      const server = await serveModels({ "/v1/models": { data }, [path]: answer });
      const models = openModels(compatible(server));
      expect(await models.listServed()).toEqual(["openai-compatible/m"]);
      expect(models.facts("openai-compatible/m").window).toBe(50_000);
    }
  });

  test("stays when Ollama answers nonsense of one model, or of what is loaded", async () => {
    const { "/api/show": show } = ollamaAnswers();
    if (typeof show !== "function") throw new Error("It answers by model.");
    const server = await serveModels({
      ...ollamaAnswers(),
      "/api/show": (request) =>
        JSON.stringify(request.body).includes("big") ? "no" : show(request),
      "/api/ps": { models: null },
    });
    const models = openModels(ollama(server));
    expect(await models.listServed()).toHaveLength(4);
    expect(models.facts("ollama/set:8b").window).toBe(16_384);
  });

  test("[safety] is asked for with the key, and nothing beside it is", async () => {
    const data = [{ id: "m.gguf", owned_by: "llamacpp" }];
    const server = await serveModels({ "/v1/models": { data }, "/props": {} });
    const environment = { OPENAI_API_KEY: "key-of-this-test" };
    await openModels({ ...compatible(server), environment }).listServed();
    const sent = server.requests.map(({ path, headers }) => [path, headers["authorization"]]);
    expect(sent).toEqual([
      ["/v1/models", "Bearer key-of-this-test"],
      ["/props", undefined],
    ]);
  });
});

describe("a run", () => {
  test("learns its model's price before the first answer is paid for, and asks once", async () => {
    const server = await serveModels({ "/v1/models": { data: [openRouter] } });
    const models = openModels(compatible(server));
    const events = await ask(models, "openai-compatible/maker/large");
    expect(events.at(-1)).toMatchObject({ usage: { costMicros: 10 * 3 + 7 * 15 } });
    await ask(models, "openai-compatible/maker/large");
    expect(server.requests.filter(({ path }) => path === "/v1/models")).toHaveLength(1);
  });

  test("asks again after a while, and keeps what it knows of a server that is silent, until that answers", async () => {
    let now = 0;
    const answers: Record<string, Json | ServerAnswer> = { "/v1/models": { data: [openRouter] } };
    const server = await serveModels(answers);
    const models = openModels({ ...compatible(server), now: () => now });
    const name = "openai-compatible/maker/large";
    await ask(models, name);
    now += 11 * 60_000;
    answers["/v1/models"] = { data: [{ ...openRouter, top_provider: { context_length: 90_000 } }] };
    await ask(models, name);
    await expect.poll(() => models.facts(name).window).toBe(90_000);
    answers["/v1/models"] = { cut: true };
    now += 30 * 60_000;
    expect(await models.listServed()).toEqual([]);
    expect(models.facts(name).window).toBe(90_000);
    now += 61 * 60_000;
    expect(await models.listServed()).toEqual([]);
    expect(models.facts(name).window).toBe(90_000);
    // After so long a silence the first run already uses what the server says now.
    answers["/v1/models"] = { data: [{ ...openRouter, top_provider: { context_length: 70_000 } }] };
    now += 61 * 60_000;
    await models.learn(name);
    expect(models.facts(name).window).toBe(70_000);
  });

  test("learns its model's window before it has to fit, and until then nobody knows it", async () => {
    const server = await serveModels({ "/v1/models": { data: [openRouter] } });
    const set = { models: { "openai-compatible/set": { window: 9_000 } } };
    const models = openModels(compatible(server, set));
    const name = "openai-compatible/maker/large";
    expect(models.knownWindow(name)).toBeNull();
    await models.learn(name);
    expect(models.knownWindow(name)).toBe(200_000);
    expect(models.knownWindow("openai-compatible/unlisted")).toBeNull();
    expect(models.knownWindow("openai-compatible/set")).toBe(9_000);
    expect(models.knownWindow("rehearsal")).toBe(models.facts("rehearsal").window);
  });

  test("does without what a server does not report", async () => {
    const silent: ServerAnswer = { frames: [], ending: "hang" };
    const server = await serveModels({ "/v1/models": silent });
    const models = openModels(compatible(server));
    const events = await ask(models, "openai-compatible/m");
    expect(failureIn(events)).toBeNull();
    expect(textIn(events)).toBe("Good day.");
    expect(models.facts("openai-compatible/m").window).toBe(32_000);
  });

  test("sends no tools to a model that does not support them", async () => {
    const server = await serveModels(ollamaAnswers());
    const models = openModels(ollama(server));
    expect(textIn(await ask(models, "ollama/old:2b"))).toBe("Good day.");
    expect(textIn(await ask(models, "ollama/set:8b"))).toBe("Good day.");
    expect(chats(server).map(toolsIn)).toEqual([false, true]);
  });

  test.each([
    [400, "registry.ollama.ai/library/old:2b does not support tools"],
    [404, "No endpoints found that support tool use."],
  ])(
    "leaves out tools that a server refuses with %i, at once and from then on",
    async (status, message) => {
      const server = await openProviderServer((request) => {
        if (request.method === "GET") return refuses(404, {});
        if (toolsIn(request)) return refuses(status, { error: { message } });
        return { frames: chatFrames([{ text: "Good day." }]) };
      });
      onTestFinished(() => server[Symbol.asyncDispose]());
      const models = openModels(compatible(server));
      expect(textIn(await ask(models, "openai-compatible/m"))).toBe("Good day.");
      expect(textIn(await ask(models, "openai-compatible/m"))).toBe("Good day.");
      expect(chats(server).map(toolsIn)).toEqual([true, false, false]);
    },
  );
});

describe("the context of an Ollama model", () => {
  const contextIn = ({ body }: HeardRequest) =>
    (body as { options?: { num_ctx?: number } }).options?.num_ctx;

  test("is asked for up to the model's limit, unless the settings give another", async () => {
    const server = await serveModels(ollamaAnswers());
    const set = { models: { "ollama/big*": { window: 12_000 } } };
    const models = openModels(ollama(server, set));
    for (const name of ["big", "set:8b", "old:2b", "warm:70b"])
      expect(textIn(await ask(models, `ollama/${name}`))).toBe("Good day.");
    expect(chats(server).map(contextIn)).toEqual([12_000, 16_384, 8_192, 65_536]);
  });

  test("leaves room for the longest answer that the settings allow", async () => {
    const server = await serveModels(ollamaAnswers());
    const models = openModels(ollama(server, { models: { "ollama/big*": { output: 700 } } }));
    for (const name of ["big", "set:8b"]) await ask(models, `ollama/${name}`);
    const limitIn = ({ body }: HeardRequest) =>
      (body as { options?: { num_predict?: number } }).options?.num_predict;
    expect(chats(server).map(limitIn)).toEqual([700, undefined]);
  });

  test("is answered line by line, also without a last line break and with empty fields", async () => {
    const lines = [
      { message: { content: "Good ", thinking: null, tool_calls: null }, done_reason: null },
      { message: { content: "day." }, error: null },
      { message: null, done: true, prompt_eval_count: null, eval_count: 7 },
    ];
    const frames = [lines.map((line) => JSON.stringify(line)).join("\n")];
    const server = await serveModels({ ...ollamaAnswers(), "/api/chat": { frames } });
    const events = await ask(openModels(ollama(server)), "ollama/big");
    expect(failureIn(events)).toBeNull();
    expect(textIn(events)).toBe("Good day.");
    expect(events.at(-1)).toMatchObject({ usage: { input: 0, output: 7 } });
  });

  test("is left to a server that reports nothing about its models, or needs a key", async () => {
    const { "/api/show": _, ...others } = ollamaAnswers();
    const [silent, keyed] = [await serveModels(others), await serveModels(ollamaAnswers())];
    const models = openModels(ollama(silent));
    expect(textIn(await ask(models, "ollama/big"))).toBe("Good day.");
    const secrets = memorySecrets();
    await secrets.put("ollama", { key: "key-of-this-test", baseUrl: `${keyed.url}/v1` });
    const withKey = createModelRegistry({ config: noModelConfig, environment: {}, secrets });
    expect(textIn(await ask(withKey, "ollama/big"))).toBe("Good day.");
    expect(withKey.facts("ollama/big").window).toBe(4_096);
    const paths = [silent, keyed].flatMap(chats).map(({ path }) => path);
    expect(paths).toEqual(["/v1/chat/completions", "/v1/chat/completions"]);
    const beside = keyed.requests.filter(({ path }) => path.startsWith("/api/"));
    expect(beside.flatMap(({ headers }) => headers["authorization"] ?? [])).toEqual([]);
  });
});
