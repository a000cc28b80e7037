import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { admitMessage, type Store } from "@holdfast/engine";
import {
  calls,
  gate,
  says,
  type Script,
  scriptedModel,
  uses,
} from "@holdfast/testing/fakes/scripted-model";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { ids } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { readConfig } from "../../ops/config/read-config.ts";
import { createAgentRuntime } from "../../agent/runtime.ts";
import { createToolset } from "../../agent/toolset.ts";
import { openFactStore } from "../../agent/memory/fact-store.ts";
import { openMemoryProviders } from "../../agent/memory/providers.ts";
import { modelsOf } from "../../../test/support/providers/models.ts";

/** A host that limits each run to one dollar. */
async function openHost(store: Store, script: Script) {
  const home = mkdtempSync(join(tmpdir(), "holdfast-spend-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const environment = { HOLDFAST_SPEND_PER_RUN: "1", HOLDFAST_LEASE_MS: "2000" };
  const config = readConfig({ flags: { home }, environment, personFolder: home });
  if (!config.ok) throw new Error(config.failure.message);
  const report = (bug: Error): never => {
    throw bug;
  };
  const memories = await openMemoryProviders(home, {
    choice: "off",
    facts: openFactStore({ register: store.register, home }),
  });
  const toolset = createToolset(config.value, store);
  const model = scriptedModel(script);
  const { value } = config;
  const models = modelsOf(model);
  const deps = { config: value, store, models, memory: memories, toolset, report };
  const { engine } = await createAgentRuntime(deps);
  onTestFinished(() => engine.stop());
  return { ...engine, model };
}

const costs = (cents: number) => uses({ costMicros: cents * 10_000 });
const isFromChild = (request: { readonly messages: unknown }) =>
  JSON.stringify(request.messages).includes("a task from another agent");

/** The person's run delegates a task, and the child continues for as long as it may. */
const endless = (request: { readonly messages: unknown }) =>
  isFromChild(request)
    ? [calls("todo"), costs(40)]
    : [calls("delegate", { task: "Go on" }), costs(40)];

async function say({ log, runner }: Awaited<ReturnType<typeof openHost>>, store: Store) {
  const { owner, session } = await openTestSession(store);
  const message = { owner, session, clientId: "one", text: "Begin" };
  const admitted = await admitMessage(log, ids, message);
  if (admitted.status !== "accepted") throw new Error(JSON.stringify(admitted));
  runner.notify(owner, session);
  const run = () => store.reads.run(owner, admitted.runId);
  const endedAt = async () => (await run())?.endedAt;
  const child = async () => {
    const [lane] = await store.reads.lanes(owner, `delegate:${session}:`, 9);
    return lane === undefined ? null : store.reads.session(owner, lane.session);
  };
  return { owner, run, endedAt, child };
}

const pollOptions = { timeout: 20_000 };

test("a child's spending counts towards its parent run: the child ends first, then the run", async () => {
  const store = createReferenceStore();
  const host = await openHost(store, endless);
  const { run, endedAt, child } = await say(host, store);
  await expect.poll(endedAt, pollOptions).not.toBeNull();
  expect(await run()).toMatchObject({ state: "limit", cause: "spend" });
  expect(await child()).toMatchObject({ lastState: "limit" });
  // 40 cents of the run's own and twice 40 of the child's: neither spent a dollar alone.
  expect(host.model.requests.map(isFromChild)).toEqual([false, true, true]);
});

test("the spending total is the same for a host that takes over after a crash", async () => {
  const store = createReferenceStore();
  const never = new Promise(() => {});
  const first = await openHost(store, (request, count) =>
    count === 2 ? gate(never) : endless(request),
  );
  const { run, endedAt, child } = await say(first, store);
  await expect.poll(() => first.model.requests.length, pollOptions).toBe(3);
  await first.runner.stop();
  const second = await openHost(store, endless);
  second.runner.start();
  await expect.poll(endedAt, pollOptions).not.toBeNull();
  expect(await run()).toMatchObject({ state: "limit", cause: "spend" });
  expect(await child()).toMatchObject({ lastState: "limit" });
  expect(second.model.requests.map(isFromChild)).toEqual([true]);
});

test("a person's later message in a child's session is a run of its own", async () => {
  const store = createReferenceStore();
  const host = await openHost(store, (request) => {
    if (JSON.stringify(request.messages).includes("Thank you")) return [says("Well."), costs(40)];
    return endless(request);
  });
  const { owner, endedAt, child } = await say(host, store);
  await expect.poll(endedAt, pollOptions).not.toBeNull();
  const { id: session } = (await child())!;
  const message = { owner, session, clientId: "two", text: "Thank you" };
  const admitted = await admitMessage(host.log, ids, message);
  const runId = "runId" in admitted ? admitted.runId : (undefined as never);
  host.runner.notify(owner, session);
  const state = async () => (await store.reads.run(owner, runId))?.state;
  await expect.poll(state, pollOptions).toBe("completed");
});
