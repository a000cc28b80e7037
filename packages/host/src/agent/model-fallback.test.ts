import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { admitMessage, describeContext } from "@holdfast/engine";
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
import {
  openProviderServer,
  type ServerAnswer,
} from "@holdfast/testing/host/providers/provider-server";

const own = "anthropic/claude-sonnet-5-5";
const other = "openai-compatible/heron";

/** A session on one provider's model, with another provider as its fallback. */
async function open(
  answer: (before: number) => ServerAnswer,
  settings: Readonly<Record<string, string>> = { HOLDFAST_MODEL_FALLBACK: other },
) {
  let asked = 0;
  const server = await openProviderServer(({ path }) => {
    if (!path.endsWith("/messages")) return { frames: chatFrames([{ text: "In its place." }]) };
    asked += 1;
    return answer(asked - 1);
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const home = mkdtempSync(join(tmpdir(), "holdfast-fallback-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const environment = {
    HOLDFAST_MODEL: own,
    HOLDFAST_SMALL_MODEL: "rehearsal",
    HOLDFAST_OPENAI_BASE_URL: `${server.url}/v1`,
    HOLDFAST_ANTHROPIC_BASE_URL: `${server.url}/v1`,
    ...settings,
  };
  const config = readConfig({ flags: { home }, environment, personFolder: home });
  if (!config.ok) throw new Error(config.failure.message);
  const report = (bug: Error): never => {
    throw bug;
  };
  const keys = { ANTHROPIC_API_KEY: "a-key-for-this-test" };
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
  const { engine } = await createAgentRuntime({
    config: config.value,
    store,
    models,
    memory: memories,
    toolset,
    report,
  });
  onTestFinished(() => engine.runner.stop());
  const { owner, session } = chat;
  return {
    chat,
    store,
    say: async (clientId: string) => {
      const before = server.requests.length;
      const admitted = await admitMessage(engine.log, ids, {
        owner,
        session,
        clientId,
        text: "Hello",
      });
      if (admitted.status !== "accepted") throw new Error(JSON.stringify(admitted));
      engine.runner.notify(owner, session);
      await engine.runner.idle();
      const requests = server.requests.slice(before).filter(({ method }) => method === "POST");
      return {
        run: await store.reads.run(owner, admitted.runId),
        asked: requests.map(({ body }) => (body as { readonly model: string }).model),
      };
    },
  };
}

function problem(status: number, type: string, headers: Record<string, string> = {}): ServerAnswer {
  const error = { type, message: `It is ${type}.` };
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    frames: [JSON.stringify({ type: "error", error })],
  };
}

test.each([
  ["does not take the key", problem(401, "authentication_error")],
  ["is out of credit", problem(402, "billing_error")],
  ["asks for a long wait", problem(429, "rate_limit_error", { "retry-after": "3600" })],
])(
  "a provider that %s is replaced by the next in the chain, with a notice and a ledger entry",
  async (_, answer) => {
    const { say, chat, store } = await open(() => answer);
    const { run, asked } = await say("one");
    expect(run).toMatchObject({ state: "completed", step: 1 });
    expect(asked).toEqual(["claude-sonnet-5-5", "heron"]);
    const entries = await chat.entries();
    const notice = entries.find(({ type }) => type === "notice.added");
    expect(notice?.data).toMatchObject({
      kind: "model_fallback",
      details: { from: own, to: other },
    });
    const said = entries.filter(({ type }) => type === "message.assistant");
    expect(said.map(({ data }) => data["model"])).toEqual([other]);
    const usage = await store.reads.usage(chat.owner, { session: chat.session });
    expect(usage.calls).toBe(1);
  },
);

test("[P9] the next turn returns to the session's own model, and the cache report explains each change", async () => {
  const { say, chat, store } = await open((before) =>
    before === 0
      ? problem(401, "authentication_error")
      : { frames: anthropicFrames([{ text: "Myself again." }]) },
  );
  await say("one");
  expect((await say("two")).asked).toEqual(["claude-sonnet-5-5"]);
  const options = { count: (text: string) => text.length, turns: 5 };
  const report = await describeContext(store.reads, chat.owner, chat.session, options);
  const changes = report?.turns.map((turn) => turn.changes);
  const again = { block: 0, part: "system", explainedBy: { cause: "model" } };
  expect(changes).toMatchObject([[again], [again]]);
  expect(report?.turns.map(({ model }) => model)).toEqual([own, other]);
});

test("a refused request is not sent to another model", async () => {
  const { say } = await open(() => problem(400, "invalid_request_error"));
  const { run, asked } = await say("one");
  expect([run?.state, asked]).toEqual(["failed", ["claude-sonnet-5-5"]]);
});

test("a model's own chain takes precedence over the general one", async () => {
  const models = JSON.stringify({ "anthropic/*": { fallback: [own, other] } });
  const { say } = await open(() => problem(401, "authentication_error"), {
    HOLDFAST_MODEL_FALLBACK: "rehearsal",
    HOLDFAST_MODELS: models,
  });
  expect((await say("one")).asked).toEqual(["claude-sonnet-5-5", "heron"]);
});
