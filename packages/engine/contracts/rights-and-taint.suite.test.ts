import { expect, test } from "vitest";

import {
  builtInProfiles,
  type EventType,
  ids,
  isWithinRights,
  laneKey,
  type Rights,
  rightsOf,
} from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { compactionDeps } from "@holdfast/testing/contracts/compaction-rig";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { calls, gate, says, scriptedModel, uses } from "@holdfast/testing/fakes/scripted-model";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import {
  createRunner,
  createTool,
  okResult,
  openRunRig,
  type RigDeps,
  until,
} from "@holdfast/testing/rigs/run-rig";

import { compactSession } from "../src/context/compact.ts";
import { readContext } from "../src/context/session-context.ts";
import { taintOf } from "../src/context/taint.ts";
import { undo } from "../src/history/undo.ts";
import { retry } from "../src/history/retry.ts";
import { systemClock } from "../src/ports/clock.ts";
import type { ToolCall, ToolPolicy } from "../src/ports/tool.ts";
import { changeInput, type NewInput } from "../src/run/admit.ts";
import { answerApproval } from "../src/run/answer-approval.ts";

const webhook = rightsOf({ ...builtInProfiles.webhook, tools: ["*"] });
const readers: Rights = {
  ...webhook,
  profile: "readers",
  tools: ["look", "visit"],
  memory: "read",
};

export const rightsAndTaintContract = contractSuite("rights and taint", (factory) => {
  const rig = useRig(() => openContractRig(factory));

  async function open(script: Parameters<typeof scriptedModel>[0], deps: RigDeps = {}) {
    const seen: ToolCall[] = [];
    const record = async (call: ToolCall) => {
      seen.push(call);
      return okResult("done");
    };
    const model = scriptedModel(script);
    const tools = [
      createTool("look", record),
      createTool("pay", record),
      createTool("visit", record, { taint: () => [{ kind: "web", name: "evil.example" }] }),
      createTool("ask", record, { approval: () => "ask" }),
    ];
    const holder = aHolder();
    const it = await openRunRig(rig.store, { model, tools, holder, deps });
    return { ...it, model, tools, seen };
  }
  type Opened = Awaited<ReturnType<typeof open>>;

  interface EventFields {
    readonly parts?: readonly unknown[];
    readonly rights?: Rights;
    readonly decided?: unknown;
  }
  const eventsOf = async ({ chat }: Opened, wanted: EventType): Promise<readonly EventFields[]> =>
    (await chat.events()).flatMap(({ type, data }) => (type === wanted ? [data] : []));

  const taintNow = async ({ chat }: Opened) =>
    taintOf(assertPresent(await readContext(rig.store.reads, chat.owner, chat.session)));

  test("[safety] a run has the rights of its message: its tools are not offered, and a call for one is refused", async () => {
    const it = await open([[calls("pay"), calls("look")], says("Done.")]);
    await it.say("Pay", { rights: readers });
    await it.work();
    expect(it.model.requests[0]?.tools.map(({ name }) => name)).toEqual(["look", "visit"]);
    expect(it.seen.map(({ rights }) => rights?.profile)).toEqual(["readers"]);
    const results = (await eventsOf(it, "message.tool")).flatMap(({ parts = [] }) => parts);
    expect(results).toMatchObject([
      { name: "pay", outcome: "failed", output: "There is no tool pay." },
      { name: "look", outcome: "ok" },
    ]);
  });

  test("[safety] a take-over keeps rights and taint, also where the next runner knows nothing of the sender", async () => {
    const it = await open([calls("visit"), calls("ask"), calls("pay"), says("Done.")]);
    await it.say("Pay later", { rights: { ...readers, tools: ["ask", "visit"] } });
    await it.work();
    const { chat } = it;
    const [open1] = (
      await rig.store.reads.approvals(chat.owner, { session: chat.session, limit: 1 })
    ).approvals;
    expect(open1).toMatchObject({ tool: "ask" });
    await answerApproval(it.log, ids, chat.owner, assertPresent(open1).id, "once");
    const next = createRunner(rig.store, it.log, {
      model: it.model,
      tools: it.tools,
      holder: aHolder(),
    });
    next.notify(chat.owner, chat.session);
    await next.idle();
    expect(it.seen.map(({ rights, taint }) => [rights?.tools, taint?.length])).toEqual([
      [["ask", "visit"], 0],
      [["ask", "visit"], 1],
    ]);
    const outputs = (await eventsOf(it, "message.tool")).flatMap(({ parts = [] }) => parts);
    expect(outputs.at(-1)).toMatchObject({ name: "pay", output: "There is no tool pay." });
  });

  test("[safety] steering from another place leaves what both may do, for the rest of the run", async () => {
    const isSteered = Promise.withResolvers<void>();
    const it = await open([
      [gate(isSteered.promise), calls("look")],
      [calls("pay"), calls("look")],
      says("Done."),
    ]);
    await it.say("Go on");
    const working = it.work();
    await until(() => it.model.requests.length === 1);
    await it.say("And pay me", { mode: "steer", rights: readers });
    isSteered.resolve();
    await working;
    expect(it.seen.map(({ rights }) => rights?.profile)).toEqual(["owner", "owner+readers"]);
    const [, steered] = await eventsOf(it, "message.user");
    expect(isWithinRights(assertPresent(steered?.rights), readers)).toBe(true);
  });

  test("[safety] a queued message that is changed keeps its sender's rights and taint", async () => {
    const it = await open([calls("look"), says("Done.")]);
    const { owner, session } = it.chat;
    const taint = [{ kind: "webhook", name: "ci" }];
    const { messageId } = await it.say("Pay", { rights: readers, taint });
    const changed = await changeInput(
      it.log,
      ids,
      { owner, session, messageId },
      { text: "Pay now" },
    );
    expect(changed).toMatchObject({ status: "committed" });
    await it.work();
    expect(it.model.requests[0]?.tools.map(({ name }) => name)).toEqual(["look", "visit"]);
    expect(it.seen).toMatchObject([{ rights: { profile: "readers" }, taint }]);
  });

  test("[safety] a message that is asked again has the rights that it had", async () => {
    const it = await open([says("One."), calls("look"), says("Two.")]);
    await it.say("Pay", { rights: readers });
    await it.work();
    const { owner, session } = it.chat;
    const deps = { log: it.log, ids, clock: systemClock, holder: () => aHolder() };
    expect(
      await retry(deps, { owner, session, command: ids.make("event") }, { clientId: "again" }),
    ).toMatchObject({
      status: "accepted",
    });
    await it.work();
    expect(it.seen.map(({ rights }) => rights?.profile)).toEqual(["readers"]);
  });

  test("[safety] a message that is asked again is still a stranger's; what was quoted goes with its text", async () => {
    const it = await open(() => says("Yes."));
    const { owner, session } = it.chat;
    const taint = [{ kind: "mcp", name: "wiki" }];
    const quoted: [number, number][] = [[0, 8]];
    await it.say("> theirs\n\nmine", { taint, quoted });
    await it.work();
    const askAgain = async (clientId: string, text?: string) => {
      await retry({ log: it.log, ids }, { owner, session }, { clientId, text });
      await it.work();
      return (await eventsOf(it, "message.user")).at(-1)?.parts?.[0];
    };
    expect(await askAgain("same")).toMatchObject({ taint, quoted });
    expect(await taintNow(it)).toEqual([...taint, { kind: "quote" }]);
    const edited = await askAgain("edited", "my own words");
    expect(edited).toMatchObject({ text: "my own words", taint });
    expect(edited).not.toHaveProperty("quoted");
    expect(await taintNow(it)).toEqual(taint);
  });

  test("[safety] without access to memory nothing is recalled and no turn is marked to be remembered", async () => {
    const asked: (string | undefined)[] = [];
    const it = await open([says("One."), says("Two."), says("Three.")], {
      memoryOwnerOf: () => ({ provider: "test", configuration: "1" }),
      recall: async ({ memory }) => {
        asked.push(memory);
        return memory === "none" ? [] : [{ type: "attached", source: "memory", text: "PIN" }];
      },
    });
    await it.say("From a stranger", { rights: webhook });
    await it.work();
    await it.say("From a reader", { rights: readers });
    await it.work();
    expect(await eventsOf(it, "memory.marked")).toEqual([]);
    await it.say("From the owner");
    await it.work();
    expect(asked).toEqual(["none", "read", "write"]);
    expect(await eventsOf(it, "memory.marked")).toHaveLength(1);
    const users = await eventsOf(it, "message.user");
    expect(users.map(({ rights }) => rights?.memory)).toEqual(["none", "read", undefined]);
  });

  test("[safety] a profile's runs end when it has spent its share of the day, and others go on", async () => {
    const costs = [says("Yes."), uses({ input: 1, output: 1, costMicros: 60 })];
    const it = await open(() => costs);
    const limited: Rights = { ...webhook, spend: { webhook: 100 } };
    const runs = [];
    for (const rights of [limited, limited, limited, undefined]) {
      const { runId } = await it.say("Go", rights && { rights });
      await it.work();
      runs.push(await it.run(runId));
    }
    expect(runs.map(({ state, cause }) => [state, cause])).toEqual([
      ["completed", null],
      ["completed", null],
      ["limit", "spend_profile"],
      ["completed", null],
    ]);
    const { costMicros } = await rig.store.reads.usage(it.chat.owner, { profile: "webhook" });
    expect(costMicros).toBe(120);
  });

  test("[safety] an approval after a visit says so, and a run before it does not", async () => {
    const it = await open([calls("ask"), calls("visit"), calls("ask"), says("Done.")]);
    await it.say("Go");
    await it.work();
    const answer = async () => {
      const { owner, session } = it.chat;
      const page = await rig.store.reads.approvals(owner, { session, limit: 1 });
      const { id, details } = assertPresent(page.approvals[0]);
      await answerApproval(it.log, ids, owner, id, "once");
      await it.work();
      return details.after;
    };
    expect(await answer()).toBeUndefined();
    expect(await answer()).toEqual([{ kind: "web", name: "evil.example" }]);
    expect(it.seen.map(({ taint }) => taint?.length)).toEqual([0, 0, 1]);
  });

  test("[safety] a decision records lane, rights, what was read and what confines the call, asked or allowed by a rule", async () => {
    const sandbox = { kind: "namespaces", words: "In a sandbox." };
    const toolPolicy: ToolPolicy = {
      decide: async ({ name, taint = [] }) =>
        name === "ask" && taint.length > 0 ? { kind: "allow", rule: "a rule" } : { kind: "ask" },
      confines: async ({ name }) => (name === "ask" ? sandbox : null),
      remember: async () => {},
    };
    const script = [calls("ask"), calls("visit"), calls("ask"), says("Done.")];
    const it = await open(script, { toolPolicy });
    const lane = laneKey.parse("cli:main");
    await it.say("Go", { lane, rights: { ...readers, tools: ["ask", "visit"] } });
    await it.work();
    for (let asked = 0; asked < 2; asked += 1) {
      const { owner, session } = it.chat;
      const page = await rig.store.reads.approvals(owner, { session, limit: 1 });
      const { id, details } = assertPresent(page.approvals[0]);
      expect(details).toMatchObject({ lane, rights: "readers" });
      await answerApproval(it.log, ids, owner, id, "once");
      await it.work();
    }
    const after = [{ kind: "web", name: "evil.example" }];
    const decisions = (await eventsOf(it, "tool.started")).map(({ decided }) => decided);
    expect(decisions).toEqual([
      { lane, rights: "readers", sandbox },
      { lane, rights: "readers" },
      { lane, rights: "readers", after, sandbox },
    ]);
  });

  test("[safety] quotes, attachments and derived tasks taint; a person's own words do not", async () => {
    const it = await open(() => says("Yes."));
    await it.say("Mine");
    await it.work();
    expect(await taintNow(it)).toEqual([]);
    await it.say("> theirs\n\nmine", { quoted: [[0, 8]] });
    await it.work();
    expect(await taintNow(it)).toEqual([{ kind: "quote" }]);
    await it.say("A task", { taint: [{ kind: "mcp", name: "wiki" }] });
    await it.work();
    expect(await taintNow(it)).toEqual([{ kind: "quote" }, { kind: "mcp", name: "wiki" }]);
  });

  test("[safety] taint survives compaction, in the summary of what it came from", async () => {
    const it = await open((_, count) =>
      count === 1 ? [says("Going. "), calls("visit")] : says("word ".repeat(400)),
    );
    for (const text of ["First", "Second", "Third", "Fourth"]) {
      await it.say(text);
      await it.work();
    }
    expect(await taintNow(it)).toEqual([{ kind: "web", name: "evil.example" }]);
    const { owner, session } = it.chat;
    const target = { owner, session, reason: "asked" } as const;
    const sizes = { tailTokens: 10, summaryTokens: 50 };
    const compaction = await compactSession(compactionDeps(rig.store), { ...target, sizes });
    expect(compaction).toMatchObject({ status: "compacted" });
    const context = assertPresent(await readContext(rig.store.reads, owner, session));
    expect(context.tail.some(({ type }) => type === "message.tool")).toBe(false);
    expect(await taintNow(it)).toEqual([{ kind: "web", name: "evil.example" }]);
  });

  test("[P9] neither rights nor taint change what the model is sent", async () => {
    const talk = async (marks: Partial<NewInput>) => {
      const it = await open([calls("look"), says("Seen."), says("Bye.")]);
      for (const text of ["Theirs and mine", "And then?"]) {
        await it.say(text, marks);
        await it.work();
      }
      return it.model.requests.map(({ messages, tools }) => ({ messages, tools }));
    };
    const plain = await talk({});
    const marked = await talk({
      quoted: [[0, 6]],
      taint: [{ kind: "web", name: "evil.example" }],
      rights: webhook,
    });
    const withoutIds = (value: unknown) =>
      JSON.stringify(value).replaceAll(/(?:call|blob|msg)_[0-9a-z]+/g, "id");
    expect(plain).toHaveLength(3);
    expect(withoutIds(marked)).toBe(withoutIds(plain));
  });

  test("[safety] taint ends when what it came from leaves the context", async () => {
    const it = await open([says("One."), calls("visit"), says("Read."), says("Three.")]);
    await it.say("First");
    await it.work();
    await it.say("Second");
    await it.work();
    expect(await taintNow(it)).toEqual([{ kind: "web", name: "evil.example" }]);
    const deps = { log: it.log, ids, clock: systemClock, holder: () => aHolder() };
    const command = ids.make("event");
    const { owner, session } = it.chat;
    expect(await undo(deps, { owner, session, command })).toMatchObject({ status: "committed" });
    expect(await taintNow(it)).toEqual([]);
  });
});
