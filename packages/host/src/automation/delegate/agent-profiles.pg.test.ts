import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { admitMessage, type ModelRequest, requestCancel } from "@holdfast/engine";
import {
  ids,
  ownerId,
  type Rights,
  type RunId,
  type Seq,
  type SessionId,
} from "@holdfast/protocol";
import { databases } from "@holdfast/testing/databases/databases";
import {
  calls,
  gate,
  says,
  type Script,
  type ScriptedReply,
  scriptedModel,
  uses,
} from "@holdfast/testing/fakes/scripted-model";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { describe, expect, onTestFinished, test } from "vitest";

import { modelsOf } from "../../../test/support/providers/models.ts";
import { openFactStore } from "../../agent/memory/fact-store.ts";
import { openMemoryProviders } from "../../agent/memory/providers.ts";
import { createAgentRuntime } from "../../agent/runtime.ts";
import { createToolset } from "../../agent/toolset.ts";
import { readConfig } from "../../ops/config/read-config.ts";

type Database = (typeof databases)[number];
const owner = ownerId.parse("owner");
const isChild = ({ messages }: ModelRequest) =>
  JSON.stringify(messages).includes("a task from another agent");

async function open(factory: Database) {
  const database = await factory.create();
  onTestFinished(() => database.drop());
  const store = await database.open();
  onTestFinished(() => store.close());
  const home = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-profiles-")));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const config = readConfig({
    flags: { home },
    environment: { HOLDFAST_LEASE_MS: "2000", HOLDFAST_TOOL_POLICY: "trusted" },
    personFolder: home,
  });
  if (!config.ok) throw new Error(config.failure.message);
  const settings = config.value;
  const report = (bug: Error): never => {
    throw bug;
  };

  /** A process of the host. What the models were opened with is kept. */
  async function start(script: Script) {
    const opened: { readonly name: string; readonly effort: string | null }[] = [];
    const model = scriptedModel(script);
    const models = modelsOf(model);
    const facts = openFactStore({ register: store.register, home });
    const { engine } = await createAgentRuntime({
      config: settings,
      store,
      models: {
        ...models,
        check: (name) =>
          name === "anthropic/missing"
            ? { code: "model_unknown", message: "No such model." }
            : null,
        open: (name, file, effort = null) => {
          opened.push({ name, effort });
          return models.open(name, file);
        },
      },
      memory: await openMemoryProviders(home, { choice: "facts", facts }),
      toolset: createToolset(settings, store),
      report,
    });
    onTestFinished(() => engine.stop());
    return { engine, model, opened, facts };
  }

  function profile(name: string, head: string, prompt = `You are ${name}.`): void {
    const file = join(home, "agents", `${name}.md`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `---\nname: ${name}\ndescription: For ${name}.\n${head}---\n${prompt}\n`);
  }

  const { session } = await openTestSession(store, {}, owner);

  async function say(
    { log, runner }: Awaited<ReturnType<typeof start>>["engine"],
    rights?: Rights,
  ): Promise<RunId> {
    const clientId = ids.make("message");
    const input = { owner, session, clientId, text: "Begin", ...(rights && { rights }) };
    const admitted = await admitMessage(log, ids, input);
    if (admitted.status !== "accepted") throw new Error(JSON.stringify(admitted));
    runner.notify(owner, session);
    return admitted.runId;
  }
  const ended = async (runId: RunId) => {
    await expect
      .poll(async () => (await store.reads.run(owner, runId))?.endedAt, { timeout: 20_000 })
      .not.toBeNull();
    return store.reads.run(owner, runId);
  };
  const children = async () => {
    const lanes = await store.reads.lanes(owner, `delegate:${session}:`, 9);
    return Promise.all(lanes.map((lane) => store.reads.session(owner, lane.session)));
  };
  const entries = async (of: SessionId) =>
    (await store.reads.entries(owner, of, { limit: 100 }))?.entries ?? [];
  const results = async () =>
    (await entries(session))
      .filter(({ type }) => type === "message.tool")
      .flatMap(({ data }) => data["parts"] as Record<string, unknown>[]);
  return { store, home, session, start, profile, say, ended, children, entries, results };
}

const delegated = (agent: string, more: object = {}) =>
  calls("delegate", { task: "Read the tides.", agent, ...more });

/** The person's run gives one task away and then answers. */
const once =
  (agent: string, child: (request: ModelRequest) => ScriptedReply): Script =>
  (request) => {
    if (isChild(request)) return child(request);
    return request.messages.at(-1)?.role === "tool" ? says("Thanks.") : [delegated(agent)];
  };

describe.each(databases)("on $name", (factory) => {
  test("a child works by its profile: prompt, tools, model and effort, and its card says what it cost", async () => {
    const host = await open(factory);
    host.profile(
      "tides",
      "tools: read_file grep nonsense_*\nmodel: anthropic/small\neffort: low\nbudget:\n  minutes: 5\n",
    );
    const { engine, model, opened } = await host.start(
      once("tides", () => [...says("High at noon."), uses({ costMicros: 20_000 })]),
    );
    await host.ended(await host.say(engine));
    const [parent, child] = model.requests;
    expect(JSON.stringify(parent?.messages[0])).toContain("- tides: For tides.");
    const spec = parent?.tools.find(({ name }) => name === "delegate");
    expect(Object.keys(spec?.input["properties"] ?? {})).toContain("agent");
    expect(JSON.stringify(child?.messages[0])).toContain("You are tides.");
    expect(child?.tools.map(({ name }) => name)).toEqual(["read_file", "grep"]);
    expect(opened).toContainEqual({ name: "anthropic/small", effort: "low" });
    const [row] = await host.children();
    expect(row).toMatchObject({ model: "anthropic/small", lastState: "completed" });
    expect(await host.results()).toMatchObject([
      {
        outcome: "ok",
        output: expect.stringContaining("High at noon.") as string,
        details: {
          child: {
            sessionId: row!.id,
            profile: "tides",
            title: "Read the tides.",
            costMicros: 20_000,
            tookMs: expect.any(Number) as number,
          },
        },
      },
    ]);
  });

  test("[P9] without profiles the delegate tool is what it was", async () => {
    const host = await open(factory);
    const { engine, model } = await host.start(() => says("Hello."));
    await host.ended(await host.say(engine));
    const [request] = model.requests;
    const spec = request?.tools.find(({ name }) => name === "delegate");
    expect(Object.keys(spec?.input["properties"] ?? {})).toEqual(["task", "title", "minutes"]);
    expect(JSON.stringify(request?.messages[0])).not.toContain("Agents that tasks");
  });

  test("[safety] a child never has more than its parent, whatever its profile says", async () => {
    const host = await open(factory);
    host.profile("tides", "tools: read_file terminal\nmode: full\n");
    const { engine, model } = await host.start(once("tides", () => says("Done.")));
    const rights: Rights = {
      profile: "narrow",
      tools: ["delegate", "grep", "read_file"],
      sessions: "own",
      memory: "none",
      approvals: false,
    };
    await host.ended(await host.say(engine, rights));
    expect(model.requests[1]?.tools.map(({ name }) => name)).toEqual(["read_file"]);
    const [row] = await host.children();
    expect(row?.mode).toBe(null);
    host.profile("careful", "mode: plan\nbudget:\n  minutes: 5\n");
    const careful = await host.start((request) => {
      if (isChild(request)) return says("Done.");
      return request.messages.at(-1)?.role === "tool"
        ? says("Thanks.")
        : [delegated("careful", { minutes: 40 })];
    });
    await host.ended(await host.say(careful.engine));
    const narrowed = (await host.children()).find((each) => each?.id !== row?.id);
    expect(narrowed?.mode).toBe("plan");
    const begun = await host.store.reads.events(owner, narrowed!.id, { after: 0 as Seq, limit: 5 });
    // Nine tenths of the profile's minutes, and not of the call's.
    expect(begun?.events.find(({ type }) => type === "session.created")?.data).toMatchObject({
      child: { budget: { timeMs: 270_000 } },
    });
    const events = await host.store.reads.events(owner, row!.id, { after: 0 as Seq, limit: 5 });
    const accepted = events?.events.find(({ type }) => type === "input.accepted");
    expect(accepted?.data["rights"]).toMatchObject({
      profile: "agent:tides+narrow",
      tools: ["read_file"],
      memory: "none",
      approvals: false,
    });
  });

  test("[safety] a child whose task came without access to memory has no notes in its prompt", async () => {
    const host = await open(factory);
    const { engine, model, facts } = await host.start((request) => {
      if (isChild(request)) return says("Done.");
      return request.messages.at(-1)?.role === "tool"
        ? says("Thanks.")
        : [calls("delegate", { task: "Read." })];
    });
    const text = "The person keeps bees.";
    await facts.add(owner, [{ text, use: "always", source: { kind: "person" }, at: 1 }]);
    await host.ended(await host.say(engine));
    expect(JSON.stringify(model.requests[1]?.messages[0])).toContain("keeps bees");
    const rights: Rights = {
      profile: "narrow",
      tools: ["*"],
      sessions: "own",
      memory: "none",
      approvals: false,
    };
    await host.ended(await host.say(engine, rights));
    const child = model.requests.filter(isChild).at(-1);
    expect(JSON.stringify(child?.messages[0])).not.toContain("keeps bees");
  });

  test.each([
    ["nobody", 'There is no agent "nobody". The agents are: broken.'],
    ["broken", "The agent broken cannot be used. No such model."],
  ])("a task for %s is refused with the reason, and there is no child", async (agent, reason) => {
    const host = await open(factory);
    host.profile("broken", "model: anthropic/missing\n");
    const { engine } = await host.start(once(agent, () => says("Done.")));
    await host.ended(await host.say(engine));
    expect(await host.results()).toMatchObject([{ outcome: "failed", output: reason }]);
    expect(await host.children()).toEqual([]);
  });

  test("a child over its budget is told to conclude, and the parent gets what it then says", async () => {
    const host = await open(factory);
    host.profile("tides", "budget:\n  steps: 2\n");
    const { engine, model } = await host.start(
      once("tides", ({ messages }) =>
        messages.at(-1)?.role === "notice" ? says("Only the first half.") : [calls("todo")],
      ),
    );
    await host.ended(await host.say(engine));
    const told = model.requests.filter(isChild).at(-1)?.messages.at(-1);
    expect(told).toMatchObject({
      role: "notice",
      text: expect.stringContaining("The budget of this task is used up (2 steps).") as string,
    });
    expect(model.requests.filter(isChild)).toHaveLength(3);
    const [result] = await host.results();
    expect(result).toMatchObject({ outcome: "ok" });
    expect(result?.["output"]).toContain("Only the first half.");
    expect(result?.["output"]).toContain("it was told to conclude");
  });

  test("a child that goes on after that is ended, and the parent hears its last words", async () => {
    const host = await open(factory);
    host.profile("tides", "budget:\n  cost: 0.5\n");
    const { engine, model } = await host.start(
      once("tides", () => [...says("So far: low."), calls("todo"), uses({ costMicros: 400_000 })]),
    );
    expect(await host.ended(await host.say(engine))).toMatchObject({ state: "completed" });
    expect(model.requests.filter(isChild)).toHaveLength(3);
    const [row] = await host.children();
    expect(row).toMatchObject({ lastState: "limit" });
    const tools = (await host.entries(row!.id)).filter(({ type }) => type === "message.tool");
    expect(tools.at(-1)?.data["parts"]).toMatchObject([
      { outcome: "cancelled", output: "Not run: the budget of this task is used up." },
    ]);
    const [result] = await host.results();
    expect(result).toMatchObject({ outcome: "failed" });
    expect(result?.["output"]).toContain("So far: low.");
  });

  test("[P7] a child that another process continues has been told once, and keeps its profile", async () => {
    const host = await open(factory);
    host.profile("tides", "tools: todo\nbudget:\n  steps: 1\n");
    const { promise: never } = Promise.withResolvers<void>();
    const first = await host.start(
      once("tides", ({ messages }) =>
        messages.at(-1)?.role === "notice" ? [...says("Half"), gate(never)] : [calls("todo")],
      ),
    );
    const runId = await host.say(first.engine);
    await expect
      .poll(() => first.model.requests.filter(isChild).length, { timeout: 20_000 })
      .toBe(2);
    await first.engine.runner.stop();
    // Meanwhile its file says something else.
    host.profile("tides", "tools: terminal\nbudget:\n  steps: 50\n", "You are somebody else.");
    const second = await host.start(once("tides", () => says("The rest.")));
    second.engine.start();
    expect(await host.ended(runId)).toMatchObject({ state: "completed" });
    const child = second.model.requests.find(isChild);
    expect(JSON.stringify(child?.messages[0])).toContain("You are tides.");
    expect(child?.tools.map(({ name }) => name)).toEqual(["todo"]);
    const [row] = await host.children();
    const notices = (await host.entries(row!.id)).filter(
      ({ data }) => data["kind"] === "budget_used",
    );
    expect(notices).toHaveLength(1);
    expect((await host.results())[0]?.["output"]).toContain("The rest.");
  });

  test("pictures and files of the answer come back as such, and the parent's model sees the pictures", async () => {
    const host = await open(factory);
    const picture = (last: number) => ({
      kind: "image" as const,
      mediaType: "image/png",
      bytes: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, last]),
    });
    const { engine, model } = await host.start((request) => {
      const last = request.messages.at(-1);
      if (!isChild(request))
        return last?.role === "tool" ? says("Nice.") : [calls("delegate", { task: "Draw." })];
      if (last?.role !== "tool") return [calls("send_file", { path: "tides.csv" })];
      return [...says("Here."), ...[1, 2, 3, 4, 5].map(picture)];
    });
    mkdirSync(join(host.home, "workspaces", host.session), { recursive: true });
    writeFileSync(join(host.home, "workspaces", host.session, "tides.csv"), "hour,height\n");
    await host.ended(await host.say(engine));
    const [result] = await host.results();
    // The parent's model gets four of them with every later step; the card has all.
    const image = { blobId: expect.any(String) as string, mediaType: "image/png" };
    const images = [image, image, image, image];
    expect(result).toMatchObject({
      outcome: "ok",
      output: expect.stringContaining("[file: tides.csv, text/csv, 12 bytes, blob_") as string,
      images,
      details: { files: [{ name: "tides.csv", mediaType: "text/csv" }, ...images, image] },
    });
    expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: "tool", images });
  });

  test("several agents work at once, and cancelling their parent ends them all", async () => {
    const host = await open(factory);
    host.profile("tides", "");
    host.profile("winds", "");
    const { promise: never } = Promise.withResolvers<void>();
    const { engine, model } = await host.start((request) =>
      isChild(request)
        ? [...says("Looking"), gate(never)]
        : [delegated("tides"), delegated("winds")],
    );
    const runId = await host.say(engine);
    await expect.poll(() => model.requests.filter(isChild).length, { timeout: 20_000 }).toBe(2);
    await requestCancel(engine.log, ids, owner, runId);
    engine.runner.notify(owner, host.session);
    expect(await host.ended(runId)).toMatchObject({ state: "cancelled" });
    await expect
      .poll(async () => (await host.children()).map((row) => row?.lastState), { timeout: 20_000 })
      .toEqual(["cancelled", "cancelled"]);
  });
});
