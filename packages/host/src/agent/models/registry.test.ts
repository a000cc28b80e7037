import { readToEnd } from "@holdfast/testing/fakes/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";

import { anthropicFrames, chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import { memorySecrets, noModelConfig } from "../../../test/support/providers/models.ts";
import {
  openProviderServer,
  type ProviderServer,
} from "@holdfast/testing/host/providers/provider-server";
import { createModelRegistry, type ModelRegistry } from "./registry.ts";
import { listModels } from "./list-models.ts";
import { costOf, factsOf } from "./model-info.ts";
import { modelTable } from "./model-table.ts";

type Given = Partial<Record<keyof typeof noModelConfig, unknown>>;

function open(given: Given = {}, environment: Record<string, string> = {}) {
  const secrets = memorySecrets();
  const settled = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      { value, source: { from: "environment", name } },
    ]),
  );
  const config = { ...noModelConfig, ...settled };
  return { secrets, models: createModelRegistry({ config, environment, secrets }) };
}

async function serve(): Promise<ProviderServer> {
  const server = await openProviderServer(({ path }) => {
    if (path === "/v1/models") {
      const frames = [JSON.stringify({ data: [{ id: "llama" }, { id: "qwen" }] })];
      return { headers: { "content-type": "application/json" }, frames };
    }
    const said = [{ text: "Good day." }];
    return { frames: path.endsWith("/messages") ? anthropicFrames(said) : chatFrames(said) };
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

async function ask(models: ModelRegistry, name: string) {
  const request = { model: name, messages: [{ role: "user", text: "Hi" }], tools: [] } as const;
  const events = await readToEnd(models.open(name).stream(request, new AbortController().signal));
  const failed = events.find((event) => event.kind === "failed");
  const text = events.map((event) => (event.kind === "text" ? event.text : "")).join("");
  return failed?.failure ?? text;
}

const usualKey = (name: string) => ({ [name]: "key-of-the-environment" });

describe("the default model", () => {
  test.each([
    [{}, "rehearsal"],
    [usualKey("ANTHROPIC_API_KEY"), "anthropic/"],
    [usualKey("HOLDFAST_ANTHROPIC_API_KEY"), "anthropic/"],
    [usualKey("OPENAI_API_KEY"), "openai/"],
    [{ ...usualKey("OPENAI_API_KEY"), ...usualKey("ANTHROPIC_API_KEY") }, "anthropic/"],
    [{ ANTHROPIC_API_KEY: "" }, "rehearsal"],
  ])("with %j alone is %s", (environment, expected) => {
    const { models } = open({}, environment);
    expect(models.defaultModel().startsWith(expected)).toBe(true);
    expect(models.check(models.defaultModel())).toBeNull();
    expect(modelTable.some(({ name }) => name.replace(/\*$/, "") === models.defaultModel())).toBe(
      true,
    );
  });

  test("is the named one, whatever keys there are", () => {
    const { models } = open({ model: "ollama/llama" }, usualKey("ANTHROPIC_API_KEY"));
    expect(models.defaultModel()).toBe("ollama/llama");
  });

  test("follows a stored key while the host runs, until it is removed", async () => {
    const { models, secrets } = open();
    await secrets.put("openai", { key: "stored-key", baseUrl: "https://api.openai.com/v1" });
    expect(models.defaultModel()).toMatch(/^openai\//);
    await secrets.remove("openai");
    expect(models.defaultModel()).toBe("rehearsal");
  });

  test("small tasks go to the provider's small model, but not on a server that only shares its name", () => {
    const { models } = open({}, usualKey("ANTHROPIC_API_KEY"));
    expect(models.smallModel("anthropic/claude-opus-5-5")).toMatch(/haiku/);
    expect(models.smallModel("ollama/llama")).toBe("ollama/llama");
    const proxied = open(
      { anthropicBaseUrl: "https://proxy.example/v1" },
      usualKey("ANTHROPIC_API_KEY"),
    );
    expect(proxied.models.smallModel("anthropic/claude-opus-5-5")).toBe(
      "anthropic/claude-opus-5-5",
    );
  });
});

describe("keys and addresses", () => {
  test("[safety] a stored key is sent to the address it was stored for, and to no other", async () => {
    const [own, other] = [await serve(), await serve()];
    const stored = { key: "stored-key", baseUrl: `${own.url}/v1` };
    const plain = open();
    await plain.secrets.put("anthropic", stored);
    expect(await ask(plain.models, "anthropic/m")).toBe("Good day.");
    expect(own.requests[0]?.headers["x-api-key"]).toBe("stored-key");

    const moved = open({ anthropicBaseUrl: `${other.url}/v1` });
    await moved.secrets.put("anthropic", stored);
    expect(moved.models.check("anthropic/m")?.message).toContain("belongs to");
    // The key exists, so nobody is told to store one.
    const { providers } = await listModels(moved.models);
    const listed = providers.find(({ provider }) => provider === "anthropic");
    expect(listed).toMatchObject({ usable: false, key: { from: "stored" } });
    expect(await ask(moved.models, "anthropic/m")).toMatchObject({ code: "model_unusable" });
    expect(other.requests).toEqual([]);
  });

  test("[safety] an environment key is never sent to a stored address", async () => {
    const stored = await serve();
    const { models, secrets } = open({}, usualKey("OPENAI_API_KEY"));
    await secrets.put("openai-compatible", { key: "stored-key", baseUrl: `${stored.url}/v1` });
    expect(await ask(models, "openai-compatible/m")).toBe("Good day.");
    expect(stored.requests[0]?.headers["authorization"]).toBe("Bearer stored-key");
    await secrets.put("openai", { key: "stored-key", baseUrl: `${stored.url}/v1` });
    expect(models.account("openai")).toMatchObject({ baseUrl: "https://api.openai.com/v1" });
  });

  test("all known keys are passed to the redactor", async () => {
    const { models, secrets } = open({}, usualKey("OPENAI_API_KEY"));
    await secrets.put("anthropic", { key: "stored-key", baseUrl: "https://a.example" });
    expect(models.keys().toSorted()).toEqual(["key-of-the-environment", "stored-key"]);
  });
});

describe("an unusable model", () => {
  test.each([
    ["anthropic/claude", "model_unusable", "ANTHROPIC_API_KEY"],
    ["openai/gpt", "model_unusable", "OPENAI_API_KEY"],
    ["openai-compatible/x", "model_unusable", "HOLDFAST_OPENAI_BASE_URL"],
    ["gpt-5", "model_unknown", "anthropic/…"],
    ["google/gemini", "model_unusable", "GEMINI_API_KEY"],
    ["gogle/gemini", "model_unknown", "google/…"],
    ["anthropic/", "model_unknown", "anthropic/…"],
  ])("%s is %s, and the message says what to set", async (name, code, words) => {
    const { models } = open();
    expect(models.check(name)).toMatchObject({ code });
    const failure = await ask(models, name);
    expect(failure).toMatchObject({ class: "auth", code });
    expect(JSON.stringify(failure)).toContain(words);
  });
});

test("the list names the models of the table, of servers and those chosen, and no key", async () => {
  const server = await serve();
  const { models, secrets } = open(
    { ollamaBaseUrl: `${server.url}/v1`, model: "anthropic/claude-new" },
    usualKey("ANTHROPIC_API_KEY"),
  );
  await secrets.put("openai", { key: "stored-key", baseUrl: "https://api.openai.com/v1" });
  const list = await listModels(models);
  const names = list.models.filter(({ usable }) => usable).map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(["rehearsal", "ollama/llama", "ollama/qwen", "anthropic/claude-new"]),
  );
  expect(names).toContain("openai/gpt-6.1-sol");
  expect(list.providers).toMatchObject([
    {
      provider: "anthropic",
      usable: true,
      key: { from: "environment", name: "ANTHROPIC_API_KEY" },
    },
    { provider: "openai", usable: true, key: { from: "stored" } },
    { provider: "google", usable: false },
    { provider: "openai-compatible", usable: false },
    { provider: "ollama", usable: true, key: { from: "none" } },
  ]);
  expect(list.providers[3]?.problem).toContain("HOLDFAST_OPENAI_BASE_URL");
  expect(JSON.stringify(list)).not.toMatch(/stored-key|key-of/);
  await listModels(models);
  expect(server.requests).toHaveLength(1);
});

describe("the model table", () => {
  test("has no row hidden by an earlier one", () => {
    for (const row of modelTable) {
      const { name } = row;
      const own = name.replace(/\*$/, "x").replace(/\/x$/, "/something-new");
      const facts = factsOf(name.endsWith("*") ? own : name);
      expect({ name, ...facts }).toEqual(row);
    }
  });

  test("gives an unknown model a safe window and no price, unless the settings know better", () => {
    const bare = factsOf("openai-compatible/new");
    expect(bare).toEqual({ window: 32_000, output: 8_000 });
    const overrides = {
      "openai-compatible/*": { window: 9_000, images: true, price: { input: 1, output: 2 } },
    };
    expect(factsOf("openai-compatible/new", overrides)).toEqual({
      window: 9_000,
      output: 8_000,
      takes: ["images"],
      price: { input: 1, output: 2, cacheRead: 1, cacheWrite: 1 },
    });
  });

  test("charges more for all of a long request", () => {
    const { price } = factsOf("openai/gpt-6-sol");
    if (price === undefined) throw new Error("It has a price.");
    expect(costOf({ input: 272_000, output: 1_000 }, price)).toBe(272_000 * 2 + 1_000 * 10);
    expect(costOf({ input: 272_001, output: 1_000 }, price)).toBe(272_001 * 4 + 1_000 * 15);
  });
});
