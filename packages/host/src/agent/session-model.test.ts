import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { admitMessage } from "@holdfast/engine";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { ids } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { readConfig } from "../ops/config/read-config.ts";
import { createAgentRuntime } from "./runtime.ts";
import { createToolset } from "./toolset.ts";
import { openFactStore } from "./memory/fact-store.ts";
import { openMemoryProviders } from "./memory/providers.ts";
import { memorySecrets } from "../../test/support/providers/models.ts";
import { createModelRegistry } from "./models/registry.ts";
import { anthropicFrames, chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import { openProviderServer } from "@holdfast/testing/host/providers/provider-server";

/** A host with two providers that share one server. */
async function open() {
  const server = await openProviderServer(({ path }) => {
    const said = [{ text: "Yes." }];
    return { frames: path.endsWith("/messages") ? anthropicFrames(said) : chatFrames(said) };
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const home = mkdtempSync(join(tmpdir(), "holdfast-models-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const environment = {
    HOLDFAST_OPENAI_BASE_URL: `${server.url}/v1`,
    HOLDFAST_ANTHROPIC_BASE_URL: `${server.url}/v1`,
    HOLDFAST_MODELS: '{"*": {"price": {"input": 1, "output": 10}}}',
  };
  const config = readConfig({ flags: { home }, environment, personFolder: home });
  if (!config.ok) throw new Error(config.failure.message);
  const report = (bug: Error): never => {
    throw bug;
  };
  const keys: Record<string, string> = {};
  const models = createModelRegistry({
    config: config.value,
    environment: keys,
    secrets: memorySecrets(),
  });
  const store = createReferenceStore();
  const chat = await openTestSession(store);
  const memories = await openMemoryProviders(home, {
    choice: "off",
    facts: openFactStore({ register: store.register, home }),
  });
  const toolset = createToolset(config.value, store);
  const { engine, titles } = await createAgentRuntime({
    config: config.value,
    store,
    models,
    memory: memories,
    toolset,
    report,
  });
  onTestFinished(() => engine.stop());
  const { owner, session } = chat;
  let said = 0;
  return {
    server,
    store,
    chat,
    keys,
    log: engine.log,
    /** Sends a message and returns the run's end and the models that were called. */
    say: async () => {
      said += 1;
      const before = server.requests.length;
      const input = {
        owner,
        session,
        clientId: `say-${said}`,
        text: "Hello",
        mode: "queue",
      } as const;
      const admitted = await admitMessage(engine.log, ids, input);
      if (admitted.status !== "accepted") throw new Error(JSON.stringify(admitted));
      engine.runner.notify(owner, session);
      await engine.runner.idle();
      await titles.idle();
      const asked = server.requests
        .slice(before)
        .filter(({ method }) => method === "POST")
        .map(({ body }) => (body as { readonly model: string }).model);
      return { run: await store.reads.run(owner, admitted.runId), asked };
    },
  };
}

test("each run calls the model its session names at that moment, and its cost is in the ledger", async () => {
  const { say, chat, log, keys, store } = await open();
  const { owner, session } = chat;
  keys["ANTHROPIC_API_KEY"] = "a-key-for-this-test";
  const first = await say();
  expect(first.run).toMatchObject({ state: "completed" });
  // The same model for the answer and the title: on another server there may be no smaller one.
  expect(first.asked).toEqual(["claude-sonnet-5-5", "claude-sonnet-5-5"]);

  await log.changeSession(owner, session, { model: "openai-compatible/heron" }, null);
  expect((await say()).asked).toEqual(["heron"]);
  await log.changeSession(owner, session, { model: null }, null);
  expect((await say()).asked).toEqual(["claude-sonnet-5-5"]);
  const events = await chat.events();
  const framed = events.filter(({ type }) => type === "context.framed");
  expect(framed.map(({ data }) => data["cause"])).toEqual(["first", "model", "model"]);
  const usage = await store.reads.usage(owner, { session });
  // Four calls with ten input and seven output tokens.
  expect(usage).toMatchObject({ input: 40, output: 28, costMicros: 4 * (10 + 70) });
});

test("a run with an unusable model fails at once and says what to set; once set, the next one works", async () => {
  const { say, chat, log, keys, server } = await open();
  const { owner, session } = chat;
  await log.changeSession(owner, session, { model: "anthropic/claude-opus-5-5" }, null);
  const { run } = await say();
  expect(run).toMatchObject({ state: "failed", cause: "model_unusable" });
  expect(JSON.stringify(await chat.entries())).toContain("Set ANTHROPIC_API_KEY");
  expect(server.requests).toEqual([]);
  keys["ANTHROPIC_API_KEY"] = "a-key-for-this-test";
  expect((await say()).run).toMatchObject({ state: "completed" });
});
