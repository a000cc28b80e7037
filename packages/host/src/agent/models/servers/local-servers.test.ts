import { describe, expect, test } from "vitest";

import { textIn } from "../../../../test/support/providers/provider-rig.ts";
import {
  ask,
  compatible,
  openModels,
  openRouter,
  serveModels,
} from "../../../../test/support/providers/served-rig.ts";
import { listModels } from "../list-models.ts";

describe("a server on this machine", () => {
  const lmStudioAnswers = {
    "/v1/models": { data: [{ id: "local", owned_by: "organization_owner" }] },
    "/api/v0/models": { data: [{ id: "local", type: "llm", max_context_length: 9_000 }] },
  };

  test("LM Studio is found, and is sent no key", async () => {
    const server = await serveModels(lmStudioAnswers);
    const environment = { OPENAI_API_KEY: "key-of-this-test" };
    const models = openModels({
      settings: { localModels: "on" },
      environment,
      lmStudio: `${server.url}/v1`,
    });
    const { models: listed } = await listModels(models);
    expect(listed.find(({ name }) => name === "openai-compatible/local")).toMatchObject({
      usable: true,
      facts: { window: 9_000 },
    });
    expect(textIn(await ask(models, "openai-compatible/local"))).toBe("Good day.");
    expect(JSON.stringify(server.requests.map(({ headers }) => headers))).not.toContain("key-of");
  });

  test("is not looked for when that is switched off", async () => {
    const server = await serveModels(lmStudioAnswers);
    const models = openModels({ settings: { localModels: "off" }, lmStudio: `${server.url}/v1` });
    expect(await models.listServed()).toEqual([]);
    expect(server.requests).toEqual([]);
  });

  test("that is something else is ignored", async () => {
    const server = await serveModels({ "/v1/models": { data: [{ id: "stranger" }] } });
    const models = openModels({ settings: { localModels: "on" }, lmStudio: `${server.url}/v1` });
    expect(await models.listServed()).not.toContain("openai-compatible/stranger");
    expect(models.check("openai-compatible/stranger")).toMatchObject({ code: "model_unusable" });
  });

  test("does not replace an address that was set", async () => {
    const [set, found] = [await serveModels({}), await serveModels(lmStudioAnswers)];
    const models = openModels({
      settings: { localModels: "on", openaiBaseUrl: `${set.url}/v1` },
      lmStudio: `${found.url}/v1`,
    });
    await models.listServed();
    expect(models.account("openai-compatible")).toMatchObject({ baseUrl: `${set.url}/v1` });
  });
});

describe("a spend limit", () => {
  test("that cannot count a model is warned about in the list, and once in the log", async () => {
    const server = await serveModels({ "/v1/models": { data: [openRouter, { id: "unpriced" }] } });
    const lines: string[] = [];
    const settings = {
      ...compatible(server, { spendPerDay: 5 }).settings,
      model: "openai-compatible/unpriced",
    };
    const models = openModels({ settings, warn: (line) => lines.push(line) });
    await models.prepare();
    await ask(models, "openai-compatible/unpriced");
    await ask(models, "openai-compatible/maker/large");
    expect(lines).toEqual([
      expect.stringMatching(/^No price is known for openai-compatible\/unpriced/),
    ]);
    const { models: listed } = await listModels(models);
    const warned = listed.filter(({ usable, warning }) => usable && warning !== null);
    expect(warned.map(({ name }) => name)).toEqual(["openai-compatible/unpriced"]);
  });

  test("that is not set causes no warning", async () => {
    const server = await serveModels({ "/v1/models": { data: [{ id: "unpriced" }] } });
    const lines: string[] = [];
    const models = openModels({ ...compatible(server), warn: (line) => lines.push(line) });
    await ask(models, "openai-compatible/unpriced");
    expect(lines).toEqual([]);
    expect(models.warning("openai-compatible/unpriced")).toBeNull();
  });
});
