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
import { answerApproval, revokeGrant } from "../src/run/answer-approval.ts";

export const questionsAndRulesContract = contractSuite("questions and rules", (factory) => {
  const rig = useRig(() => openContractRig(factory));

  async function start(text: string, replies: Replies[string], toolPolicy?: ToolPolicy) {
    const worked: unknown[] = [];
    /** The folder that tools work in, and the one they work in after the first call. */
    const folder: { path: string; next?: string; identity?: string } = { path: "/one" };
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
    Object.defineProperty(dig, "identity", { get: () => folder.identity });
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
    expect((await it.open()).details).toEqual({ kind: "question", rights: "owner" });
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
    expect((await it.open()).details).toEqual({ place: "/one", rights: "owner" });
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
      decide: async () => ({ kind: remembered.length > 0 ? "allow" : "ask", rule: "kept" }),
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
    expect(started.slice(-2).map(({ data }) => data["allowedBy"])).toEqual([id, "kept"]);
    const { approvals } = await rig.store.reads.answered(owner, { session, limit: 9 });
    expect(approvals.map(({ details }) => details.rule)).toEqual(["anything", 'only "one"']);
  });

  test("[safety] a permanent yes that the policy no longer counts covers nothing in its own session", async () => {
    const policy: ToolPolicy = { ...coversEverything, remember: async () => {} };
    const it = await start(
      "Dig for good",
      [calls("dig", 1), calls("dig", 2), says("Done.")],
      policy,
    );
    await it.work();
    const first = await it.open();
    await it.answer("always");
    await it.work();
    expect(it.worked).toEqual([["/one", 1]]);
    expect((await it.open()).id).not.toBe(first.id);
  });

  test("[safety] no yes for the session covers what the policy binds a person to decide each time", async () => {
    let isBinding = false;
    const policy: ToolPolicy = {
      ...coversEverything,
      decide: async () => (isBinding ? { kind: "ask", binding: true } : { kind: "ask" }),
    };
    const digs = [1, 2, 3].map((input) => calls("dig", input));
    const it = await start("Dig each time", [...digs, says("Done.")], policy);
    await it.work();
    isBinding = true;
    await it.answer("session");
    await it.work();
    expect(it.worked).toEqual([["/one", 1]]);
    expect((await it.open()).details).toEqual({ place: "/one", onceOnly: true, rights: "owner" });
    isBinding = false;
    await it.answer("once");
    await it.work();
    expect(it.worked).toHaveLength(3);
  });

  test("[safety] a revoked yes for the session covers nothing more, and revoking it again changes nothing", async () => {
    const it = await start(
      "Dig until told",
      [calls("dig", 1), calls("dig", 2), says("Done.")],
      coversEverything,
    );
    await it.work();
    const first = await it.open();
    const { owner } = it.chat;
    const revoke = () => revokeGrant(rig.log, ids, owner, first.id, "me");
    expect(await revoke()).toEqual({ status: "not_found" });
    await it.answer("session");
    expect(await revoke()).toMatchObject({ status: "answered" });
    expect(await revoke()).toMatchObject({ status: "answered" });
    const revoked = (await it.chat.events()).filter(({ type }) => type === "approval.revoked");
    expect(revoked).toMatchObject([{ data: { approvalId: first.id, by: "me" } }]);
    await it.work();
    expect(it.worked).toEqual([["/one", 1]]);
    expect((await it.open()).id).not.toBe(first.id);
  });

  test("[safety] a yes for the session ends by itself when its time is over, by the store's clock", async () => {
    const digs = [1, 2, 3].map((input) => calls("dig", input));
    let dug = 0;
    const policy: ToolPolicy = {
      ...coversEverything,
      decide(question) {
        // Its time is over when the third call is decided.
        dug += 1;
        if (dug === 3) rig.advanceClock(60_000);
        return coversEverything.decide(question);
      },
    };
    const it = await start("Dig for a while", [...digs, says("Done.")], policy);
    await it.work();
    const first = await it.open();
    await it.answer("session", { lastsMs: 60_000 });
    await it.work();
    expect(it.worked).toHaveLength(2);
    expect((await it.open()).id).not.toBe(first.id);
  });

  test("[safety] a call whose files change after the yes is asked about again, and says what changed", async () => {
    let hash = "sha256:1";
    const policy: ToolPolicy = {
      ...coversEverything,
      files: async () => [{ path: "package.json", hash }],
    };
    const it = await start(
      "Dig with files",
      [calls("dig", 1), calls("dig", 2), says("Done.")],
      policy,
    );
    await it.work();
    const first = await it.open();
    expect(first.details.files).toEqual([{ path: "package.json", hash: "sha256:1" }]);
    await it.answer("once");
    hash = "sha256:2";
    await it.work();
    expect(it.worked).toEqual([]);
    const second = await it.open();
    expect([second.callId, second.details.notes]).toEqual([
      first.callId,
      ['"package.json" has changed since this was allowed.'],
    ]);
    await it.answer("session");
    await it.work();
    // The second call has the same files, so the yes for the session covers it.
    expect(it.worked).toHaveLength(2);
  });

  test("[safety] a call that loads another file since the yes is asked about again, and so is one that loads fewer", async () => {
    const [manifest, config] = ["package.json", "vitest.config.ts"].map((path) => ({
      path,
      hash: "sha256:1",
    }));
    let files = [assertPresent(manifest)];
    const policy: ToolPolicy = { ...coversEverything, files: async () => files };
    const it = await start("Dig with more files", [calls("dig", 1), says("Done.")], policy);
    for (const next of [[...files, assertPresent(config)], files]) {
      await it.work();
      await it.answer("once");
      files = next;
      await it.work();
      expect(it.worked).toEqual([]);
      expect((await it.open()).details.notes).toEqual([
        '"vitest.config.ts" has changed since this was allowed.',
      ]);
    }
  });

  test("[safety] a tool that changes after the yes is asked about again, and the person is told", async () => {
    const it = await start("Dig with it", [calls("dig", 1), says("Done.")], coversEverything);
    it.folder.identity = "one";
    await it.work();
    expect((await it.open()).details.identity).toBe("one");
    await it.answer("once");
    it.folder.identity = "two";
    await it.work();
    expect(it.worked).toEqual([]);
    expect((await it.open()).details).toMatchObject({
      identity: "two",
      notes: ["The tool dig has changed since this was allowed."],
    });
    await it.answer("once");
    await it.work();
    expect(it.worked).toHaveLength(1);
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
