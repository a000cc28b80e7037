import { expect, test } from "vitest";

import {
  builtInProfiles,
  type EventData,
  ids,
  planAnswers,
  rightsOf,
  type SessionMode,
} from "@holdfast/protocol";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { compactionDeps } from "@holdfast/testing/contracts/compaction-rig";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { calls, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import {
  createRunner,
  createTool,
  okResult,
  openRunRig,
  type RigDeps,
} from "@holdfast/testing/rigs/run-rig";

import { compactSession } from "../src/context/compact.ts";
import { branch } from "../src/history/branch.ts";
import type { PolicyQuestion, ToolCall } from "../src/ports/tool.ts";
import { answerApproval } from "../src/run/answer-approval.ts";

const containing = (text: string): unknown => expect.stringContaining(text);
const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);

const group = rightsOf({ ...builtInProfiles.group, tools: ["*"] });

export const sessionModesContract = contractSuite("session modes", (factory) => {
  const rig = useRig(() => openContractRig(factory));

  async function open(script: Parameters<typeof scriptedModel>[0], deps: RigDeps = {}) {
    const ran: ToolCall[] = [];
    const record = async (call: ToolCall) => {
      ran.push(call);
      return okResult(call.answer ?? "done");
    };
    const model = scriptedModel(script);
    const tools = [
      createTool("look", record, { onlyReads: () => true }),
      createTool("write", record, { approval: () => "ask" }),
      createTool("touch", record),
      createTool("submit_plan", record, { approval: () => "plan", replay: "safe" }),
    ];
    const it = await openRunRig(rig.store, { model, tools, holder: aHolder(), deps });
    const { owner, session } = it.chat;
    const switchTo = async (mode: SessionMode) =>
      expect(await it.log.changeSession(owner, session, { mode }, null)).toMatchObject({
        status: "committed",
      });
    const approvals = async () =>
      (await rig.store.reads.approvals(owner, { session, limit: 9 })).approvals;
    const answer = async (
      decision: "once" | "deny",
      details: Parameters<typeof answerApproval>[5] = {},
    ) =>
      answerApproval(
        it.log,
        ids,
        owner,
        assertPresent((await approvals())[0]).id,
        decision,
        details,
      );
    /** Another process each time. */
    const workElsewhere = async () => {
      const next = createRunner(rig.store, it.log, { model, tools, holder: aHolder(), deps });
      next.notify(owner, session);
      await next.idle();
    };
    const row = async () => assertPresent(await rig.store.reads.session(owner, session));
    const results = async () =>
      (await it.chat.events()).flatMap(({ type, data }) =>
        type === "message.tool" ? (data as EventData<"message.tool">).parts : [],
      );
    const startedIn = async () =>
      (await it.chat.events()).flatMap(({ type, data }) =>
        type === "tool.started" ? [[data["name"], data["mode"] ?? null]] : [],
      );
    return {
      ...it,
      model,
      ran,
      switchTo,
      approvals,
      answer,
      workElsewhere,
      row,
      results,
      startedIn,
    };
  }

  test("[P9] the model learns of its mode with each message, and a switch changes nothing that was sent before", async () => {
    const it = await open([says("One."), says("Two."), says("Three.")]);
    await it.say("First");
    await it.work();
    await it.switchTo("plan");
    await it.say("Second");
    await it.work();
    await it.switchTo("ask");
    await it.say("Third");
    await it.work();
    const [first, second, third] = it.model.requests.map(({ messages, tools }) => ({
      messages,
      tools,
    }));
    expect(JSON.stringify(first)).not.toContain("[mode:");
    expect(second?.messages.slice(0, first?.messages.length)).toEqual(first?.messages);
    expect(third?.messages.slice(0, second?.messages.length)).toEqual(second?.messages);
    expect([second?.tools, third?.tools]).toEqual([first?.tools, first?.tools]);
    expect(second?.messages.at(-1)).toMatchObject({
      role: "user",
      text: matching(/^Second\n\n\[mode: .*\n> This session is in plan mode\./),
    });
    expect(third?.messages.at(-1)).toMatchObject({
      text: containing("This session is in ask mode."),
    });
    const framed = (await it.chat.events()).filter(({ type }) => type === "context.framed");
    expect(framed).toHaveLength(1);
  });

  test("[safety] in plan mode only calls that read run: the others are refused with the reason, and nobody is asked", async () => {
    const it = await open([[calls("look"), calls("write"), calls("touch")], says("Done.")]);
    await it.switchTo("plan");
    await it.say("Look around");
    await it.work();
    expect(it.ran).toHaveLength(1);
    expect(await it.approvals()).toEqual([]);
    expect(await it.results()).toMatchObject([
      { name: "look", outcome: "ok" },
      { name: "write", outcome: "cancelled", details: { refusal: "plan_mode" } },
      { name: "touch", outcome: "cancelled", output: containing("plan mode") },
    ]);
    expect(await it.startedIn()).toEqual([["look", "plan"]]);
    expect(it.model.requests.at(-1)?.tools.map(({ name }) => name)).toContain("write");
  });

  test("[safety] a waiting approval stays open at a switch, and in plan mode even a yes to it runs nothing", async () => {
    const it = await open([calls("write"), says("Done.")]);
    await it.say("Write");
    await it.work();
    await it.switchTo("full");
    expect(await it.approvals()).toMatchObject([{ tool: "write", state: "open" }]);
    await it.switchTo("plan");
    expect(await it.approvals()).toHaveLength(1);
    expect(await it.answer("once")).toMatchObject({ status: "answered" });
    await it.workElsewhere();
    expect(it.ran).toEqual([]);
    expect(await it.results()).toMatchObject([{ details: { refusal: "plan_mode" } }]);
  });

  for (const [mode, answer] of Object.entries(planAnswers)) {
    test(`an approved plan switches the session to ${mode} in the same commit, and any process goes on with it`, async () => {
      const it = await open([calls("submit_plan", { plan: "1. Write" }), says("Off I go.")]);
      await it.switchTo("plan");
      await it.say("Plan it");
      await it.work();
      expect(await it.approvals()).toMatchObject([
        { tool: "submit_plan", details: { kind: "question", plan: true, mode: "plan" } },
      ]);
      expect(await rig.store.leases.read("run", it.chat.session)).toBeNull();
      const before = (await it.row()).head;
      expect(await it.answer("once", { answer, by: "me" })).toMatchObject({ status: "answered" });
      const written = (await it.chat.events()).filter(({ seq }) => seq > before);
      expect(written.map(({ type }) => type)).toEqual([
        "approval.answered",
        "session.changed",
        "run.state",
      ]);
      expect(await it.row()).toMatchObject({ mode });
      await it.workElsewhere();
      expect(await it.results()).toMatchObject([{ outcome: "ok", output: answer }]);
      expect(await it.row()).toMatchObject({ lastState: "completed", mode });
      expect(await fsckFindings(rig.store)).toEqual([]);
    });
  }

  test("a comment on a plan goes back to the model, and a refusal says so; the session stays in plan mode", async () => {
    const it = await open([
      calls("submit_plan", { plan: "1. Write" }),
      calls("submit_plan", { plan: "2. Write less" }),
      says("Never mind."),
    ]);
    await it.switchTo("plan");
    await it.say("Plan it");
    await it.work();
    await it.answer("once", { answer: "Yes, but less." });
    await it.workElsewhere();
    expect(await it.row()).toMatchObject({ mode: "plan", liveState: "waiting" });
    await it.answer("deny");
    await it.workElsewhere();
    expect(await it.results()).toMatchObject([
      { outcome: "ok", output: "Yes, but less." },
      { outcome: "cancelled", details: { refusal: "plan_refused" } },
    ]);
    expect(await it.row()).toMatchObject({ mode: "plan" });
  });

  test("outside of plan mode there is no plan to approve, and the run goes on without asking", async () => {
    const it = await open([calls("submit_plan", { plan: "1. Write" }), says("Done.")]);
    await it.say("Do it");
    await it.work();
    expect(await it.approvals()).toEqual([]);
    expect(await it.results()).toMatchObject([
      { outcome: "failed", output: containing("not in plan mode") },
    ]);
  });

  async function judgedModes(
    mode: SessionMode,
    { deps = {}, limited = false }: { readonly deps?: RigDeps; readonly limited?: boolean },
  ) {
    const judged: (SessionMode | undefined)[] = [];
    const toolPolicy = {
      decide: async (question: PolicyQuestion) => {
        judged.push(question.mode);
        return { kind: "allow" } as const;
      },
      remember: async () => {},
    };
    const it = await open([calls("write"), says("Done.")], { ...deps, toolPolicy });
    await it.switchTo(mode);
    await it.say("Write", limited ? { rights: group } : {});
    await it.work();
    return { judged, told: it.model.requests[0]?.messages.at(-1), startedIn: await it.startedIn() };
  }

  test("[safety] a message whose sender answers no approvals gets nothing from a wide mode", async () => {
    expect(await judgedModes("full", {})).toMatchObject({
      judged: ["full"],
      startedIn: [["write", "full"]],
    });
    expect(await judgedModes("full", { limited: true })).toMatchObject({
      judged: ["ask"],
      told: { text: containing("This session is in ask mode.") },
      startedIn: [["write", null]],
    });
  });

  test("[safety] a session never has a wider mode than its limit, however that changes", async () => {
    const deps = { modeLimit: async () => "edits" as const };
    expect(await judgedModes("full", { deps })).toMatchObject({
      judged: ["edits"],
      told: { text: containing("mode that accepts edits") },
    });
    expect((await judgedModes("ask", { deps })).judged).toEqual(["ask"]);
    const planned = await judgedModes("full", { deps: { modeLimit: async () => "plan" } });
    expect(planned).toMatchObject({ judged: [], startedIn: [] });
  });

  test("[safety] a session that is held in plan mode from above cannot submit a plan of its own", async () => {
    const deps = { modeLimit: async () => "plan" as const };
    const it = await open([calls("submit_plan", { plan: "1. Write" }), says("Done.")], deps);
    await it.say("Plan it");
    await it.work();
    expect(await it.approvals()).toEqual([]);
    expect(await it.results()).toMatchObject([{ outcome: "failed" }]);
  });

  test("[safety] a mode survives compaction, and a branch has no wider one than ask", async () => {
    const it = await open((_, count) => (count === 4 ? calls("write") : says("word ".repeat(400))));
    await it.switchTo("plan");
    for (const text of ["First", "Second", "Third"]) {
      await it.say(text);
      await it.work();
    }
    const { owner, session } = it.chat;
    const sizes = { tailTokens: 10, summaryTokens: 50 };
    const target = { owner, session, reason: "asked", sizes } as const;
    expect(await compactSession(compactionDeps(rig.store), target)).toMatchObject({
      status: "compacted",
    });
    await it.say("Now write");
    await it.work();
    expect(it.ran).toEqual([]);
    expect(it.model.requests[3]?.messages.at(-1)).toMatchObject({
      text: containing("plan mode"),
    });
    const origin = { owner, session, command: ids.make("event") };
    const branchMode = async () => {
      const made = await branch({ log: it.log, ids }, origin);
      if (made.status !== "branched") return made;
      return (await rig.store.reads.session(owner, made.session))?.mode;
    };
    const narrow = await branchMode();
    await it.switchTo("full");
    expect([narrow, await branchMode()]).toEqual(["plan", "ask"]);
    expect(await fsckFindings(rig.store)).toEqual([]);
  });
});
