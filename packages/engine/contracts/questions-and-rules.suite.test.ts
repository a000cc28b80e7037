import { expect, test } from "vitest";

import { ids } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { type Replies, repliesByPrompt } from "@holdfast/testing/contracts/peer-runs";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { createRunner, createTool, okResult } from "@holdfast/testing/rigs/run-rig";

import { createLog } from "../src/log/log.ts";
import type { ToolPolicy } from "../src/ports/tool.ts";
import { answerApproval } from "../src/run/approvals.ts";

export const questionsAndRulesContract = contractSuite("questions and rules", (factory) => {
  const rig = useRig(() => openContractRig(factory));

  async function start(text: string, replies: Replies[string], toolPolicy?: ToolPolicy) {
    const worked: unknown[] = [];
    /** The folder that tools work in, and the one they work in after the first call. */
    const folder: { path: string; next?: string } = { path: "/one" };
    const dig = createTool(
      "dig",
      async ({ place, input }) => {
        folder.path = folder.next ?? folder.path;
        return okResult(`dug ${worked.push([place, input])}`);
      },
      {
        approval: () => "ask",
        place: async () => folder.path,
      },
    );
    const wonder = createTool(
      "wonder",
      async ({ answer = "nothing" }) => okResult(`heard ${answer}`),
      {
        approval: () => "question",
        replay: "safe",
      },
    );
    const model = repliesByPrompt({ [text]: replies });
    const sent = await rig.send(text);
    const { owner, session } = sent.chat;
    /** Another process each time. */
    const work = async (): Promise<void> => {
      const runner = createRunner(rig.store, createLog(rig.store), {
        model,
        tools: [dig, wonder],
        holder: aHolder(),
        dead: () => false,
        clock: manualClock(),
        deps: toolPolicy === undefined ? {} : { toolPolicy },
      });
      runner.notify(owner, session);
      await runner.idle();
    };
    const open = async () =>
      assertPresent((await rig.store.reads.approvals(owner, { session, limit: 9 })).approvals[0]);
    const answer = async (
      decision: "once" | "session" | "always" | "deny",
      answerDetails: Parameters<typeof answerApproval>[5] = {},
    ) => answerApproval(rig.log, ids, owner, (await open()).id, decision, answerDetails);
    return { ...sent, worked, folder, work, open, answer };
  }

  test("[P7] a question waits without a lease, and whichever runner continues it has the answer", async () => {
    const it = await start("Wonder", [calls("wonder", "which?"), says("I see.")]);
    await it.work();
    expect((await it.open()).details).toEqual({ kind: "question" });
    expect(await rig.store.leases.read("run", it.chat.session)).toBeNull();
    const answerDetails = { answer: "the blue \u0000 one", by: "me" };
    expect(await it.answer("once", answerDetails)).toMatchObject({ status: "answered" });
    await it.work();
    expect(await it.transcript()).toContain("tool: ok heard the blue \u0000 one");
    expect(await it.terminalStates()).toEqual(["completed"]);
  });

  test("[P7] a question that the person declines is not run, and the model is told", async () => {
    const it = await start("Wonder more", [calls("wonder"), says("Never mind.")]);
    await it.work();
    await it.answer("deny");
    await it.work();
    expect(await it.transcript()).toContainEqual(expect.stringMatching(/did not want to answer/));
  });

  test("[P7] a call allowed in one folder does not run in another, whichever runner continues", async () => {
    const it = await start("Dig", [calls("dig", "a hole"), says("I see.")]);
    await it.work();
    expect((await it.open()).details).toEqual({ place: "/one" });
    await it.answer("once");
    it.folder.path = "/two";
    await it.work();
    expect(it.worked).toEqual([]);
    expect(await it.transcript()).toContainEqual(
      expect.stringMatching(/This is not what was allowed/),
    );
  });

  test("[P7] a yes for the session covers what its rule says, in its folder, and permanent rules are named", async () => {
    const remembered: unknown[] = [];
    const policy: ToolPolicy = {
      decide: async () => ({ kind: "ask" }),
      describe: async ({ input }) => ({ rules: [`only ${JSON.stringify(input)}`, "anything"] }),
      covers: async (rule, { input }) =>
        rule === "anything" || rule === `only ${JSON.stringify(input)}`,
      remember: async (rule) => void remembered.push(rule),
    };
    const digs = ["one", "one", "two", "two"].map((input) => calls("dig", input));
    const it = await start("Dig on", [...digs, says("Done.")], policy);
    await it.work();
    await it.answer("session");
    await it.work();
    expect(it.worked).toEqual([
      ["/one", "one"],
      ["/one", "one"],
    ]);
    const { id } = await it.open();
    await it.answer("always", { rule: "anything", by: "me" });
    await it.work();
    expect(it.worked).toHaveLength(4);
    const { owner, session } = it.chat;
    expect(remembered).toEqual([
      { owner, tool: "dig", approvalId: id, session, rule: "anything", by: "me" },
    ]);
    const started = (await it.chat.events()).filter(({ type }) => type === "tool.started");
    expect(started.at(-1)?.data["allowedBy"]).toBe(id);
    const { approvals } = await rig.store.reads.answered(owner, { session, limit: 9 });
    expect(approvals.map(({ details }) => details.rule)).toEqual(["anything", 'only "one"']);
  });

  const coversEverything: ToolPolicy = {
    decide: async () => ({ kind: "ask" }),
    describe: async () => ({ rules: ["anything"] }),
    covers: async () => true,
    remember: async () => {},
  };
  test.each<[string, string, ToolPolicy | undefined]>([
    ["without rules", "Dig there", undefined],
    ["by a rule", "Dig everywhere", coversEverything],
  ])(
    "[P7] a yes for the session holds in its folder, and another folder needs its own: %s",
    async (_how, text, policy) => {
      const it = await start(text, [calls("dig", 1), calls("dig", 2), says("Done.")], policy);
      await it.work();
      const first = await it.open();
      await it.answer("session");
      it.folder.next = "/two";
      await it.work();
      expect(it.worked).toEqual([["/one", 1]]);
      const second = await it.open();
      expect([second.id === first.id, second.details.place]).toEqual([false, "/two"]);
      await it.answer("once");
      await it.work();
      expect(it.worked).toEqual([
        ["/one", 1],
        ["/two", 2],
      ]);
    },
  );

  test("[P14] all rows stored by these tests follow from the logs", async () => {
    expect(await fsckFindings(rig.store)).toEqual([]);
  });
});
